-- Completion time of Awari on one cluster with half of the ranks, over that with all.
with

timed as (
    select
        points.ranks,
        median(runs.completion_s) as completion_s,
    from points
    inner join runs using (app, problem, point)
    inner join main_problems using (app, problem)
    where
        points.app = 'awari'
        and points.placement is not null
        and points.variant is null
        and runs.is_used
        and (points.rtt_asked_ms, points.rate_asked_mbit_s) in (
            select (base.rtt_asked_ms, base.rate_asked_mbit_s)
            from points as base
            where base.app = 'awari' and base.is_baseline
        )
    group by points.ranks
)

select
    'double' as key,
    half.completion_s / every.completion_s as ours,
from timed as half
cross join timed as every
where
    every.ranks = (select max(timed.ranks) from timed)
    and half.ranks * 2 = every.ranks
