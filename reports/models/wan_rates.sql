-- Rates between places, over a window of a step that moves bin by bin, so that they do not
-- depend on where steps begin. One row per sum of directions as in `wan_sums` and stretch of time
-- for which the bytes of the window stay the same, silent ones left out.
with

members as (
    select distinct
        run,
        sum_id,
        unnest(direction_ids) as direction_id,
    from wan_sums
),

summed as (
    select
        members.run,
        members.sum_id,
        changes.bin,
        sum(changes.change)::bigint as change,
    from wan_changes as changes
    inner join members using (direction_id)
    group by members.run, members.sum_id, changes.bin
),

stretches as (
    select
        run,
        sum_id,
        bin,
        sum(change) over one_sum::bigint as window_bytes,
        lead(bin) over one_sum as next_bin,
    from summed
    window one_sum as (partition by sum_id order by bin)
)

select
    stretches.sum_id,
    stretches.bin,
    stretches.window_bytes,
    (coalesce(stretches.next_bin, steps.bins) - stretches.bin)
    * steps.bin_ns as held_ns,
from stretches
inner join wan_steps as steps using (run)
where stretches.window_bytes > 0
