-- One row per point at which the directions between the sites differ: an asymmetric link, an access
-- line, or links of different rates. There, a figure that does not know the direction of a packet
-- or transfer has no single rate to compare it with.
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
