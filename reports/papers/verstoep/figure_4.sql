-- The completion time of Awari without its optimisations on the grid, over that on one cluster.
select
    'grid' as key,
    median(completion_s) filter (placement is null)
    / median(completion_s) filter (placement is not null) as ours,
from figure_totals
inner join main_problems using (app, problem)
where
    app = 'awari'
    and variant = 'none'
    and (problem, ranks, rtt_asked_ms, rate_asked_mbit_s) in (
        select (problem, ranks, rtt_asked_ms, rate_asked_mbit_s)
        from points
        where app = 'awari' and is_baseline
    )
