-- One row per run and direction between two places, with a number, which is faster to join and sort
-- than three names.
with

found as (
    select distinct
        run,
        from_site,
        to_site,
    from wan_traffic
)

select
    row_number() over (order by run, from_site, to_site) as direction_id,
    run,
    from_site,
    to_site,
from found
