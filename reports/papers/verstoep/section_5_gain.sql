-- The completion time of Awari without its optimisations, over that with all.
select
    'none' as key,
    median(completion_s) filter (variant = 'none')
    / median(completion_s) filter (is_baseline) - 1 as ours,
from figure_totals
inner join main_problems using (app, problem)
where
    app = 'awari'
    and placement is null
    and rtt_asked_ms = (
        select min(rtt_asked_ms)
        from points
        where app = 'awari'
    )
