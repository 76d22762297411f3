-- One row per run and sum of directions: one direction between two places, all that a place sends
-- (`to_site` is null), all that a place receives (`from_site` is null), and all together (both are
-- null). Sums of the same directions, which are frequent with only two places, share one `sum_id`.
with

summed as (
    select
        run,
        from_site,
        to_site,
        list(direction_id order by direction_id) as direction_ids,
    from wan_directions
    group by grouping sets (
        (run, from_site, to_site), (run, from_site), (run, to_site), (run)
    )
)

select
    *,
    dense_rank() over (order by direction_ids) as sum_id,
from summed
