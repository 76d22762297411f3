-- Rates between places over a window one step wide that moves bin by bin, so that they do not
-- depend on where steps begin. One row per sum of directions (see `wan_sums`) and stretch of time
-- with constant bytes in the window; silent stretches are left out.
with

members as (
    select distinct
        sums.sum_id,
        unnest(sums.direction_ids) as direction_id,
        len(sums.direction_ids) > 1 as is_sum,
        steps.bins,
        steps.bin_ns,
    from wan_sums as sums
    inner join wan_steps as steps using (run)
),

-- Most sums have one direction, whose changes need no summing.
summed as (
    select
        members.sum_id,
        changes.bin,
        changes.change,
    from wan_changes as changes
    inner join members using (direction_id)
    where not members.is_sum
    union all
    select
        members.sum_id,
        changes.bin,
        sum(changes.change)::bigint as change,
    from wan_changes as changes
    inner join members using (direction_id)
    where members.is_sum
    group by members.sum_id, changes.bin
),

stretches as (
    select
        sum_id,
        bin,
        sum(change) over one_sum::bigint as window_bytes,
        lead(bin) over one_sum as next_bin,
    from summed
    window one_sum as (partition by sum_id order by bin)
),

times as (
    select distinct
        sum_id,
        bins,
        bin_ns,
    from members
)

select
    stretches.sum_id,
    stretches.bin,
    stretches.window_bytes,
    (coalesce(stretches.next_bin, times.bins) - stretches.bin)
    * times.bin_ns as held_ns,
from stretches
inner join times using (sum_id)
where stretches.window_bytes > 0
