-- The completion time of Awari with all optimisations on the grid, over that on one cluster.
select
    'all' as key,
    median(completion_s) filter (is_baseline)
    / median(completion_s) filter (placement is not null) - 1 as ours,
from figure_totals
inner join main_problems using (app, problem)
where app = 'awari' and variant is null
