-- Messages of LU between the sites at the baseline: how many are of one packet, and how many there
-- are each way for each plane, sweep and iteration, and each of the two pairs of neighbours.
with

sent as (
    select
        messages.run,
        messages.packets,
        try_cast(
            regexp_extract(points.problem, 'side (\d+)', 1) as integer
        ) as side,
        try_cast(
            regexp_extract(points.problem, 'iterations (\d+)', 1) as integer
        ) as iterations,
    from counted_messages as messages
    inner join point_runs using (run)
    inner join points using (point)
    inner join main_problems
        on
            points.app = main_problems.app
            and points.problem = main_problems.problem
    where points.app = 'ssor' and points.is_baseline
),

counted as (
    select
        avg((packets = 1)::integer) as small,
        -- two pairs, both ways, one sweep each: at four ranks
        count(*)
        / count(distinct run)
        / any_value(4 * iterations * (side - 2)) as waves,
    from sent
)

select
    key,
    ours,
from (
    unpivot counted
    on small, waves
    into name key value ours
)
