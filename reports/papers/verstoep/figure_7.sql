-- The completion time of Awari with all optimisations on the grid, over that on one cluster with as
-- many ranks.
select
    'all' as key,
    median(own.completion_s) filter (own.is_baseline)
    / median(own.completion_s) filter (own.placement is not null) - 1 as ours,
from figure_totals as own
inner join main_problems using (app, problem)
inner join points as base using (app, problem)
where
    own.app = 'awari'
    and base.is_baseline
    and own.variant is null
    and own.ranks is not distinct from base.ranks
