-- One row per point at which the ways between the sites are not all alike: a way back of its own,
-- an access line, or links of other rates. A figure that does not look up which way a packet or
-- a transfer took then has no one rate to hold it against.
select distinct points.point
from wan_limits as limits
inner join runs using (run)
inner join points using (point)
where
    limits.from_site is not null
    and limits.to_site is not null
    and abs(
        limits.limit_mbit_s
        / points.rate_asked_mbit_s
        / coalesce(points.links, 1)
        - 1
    ) > 1e-9
