-- Completion time of Awari with half of the ranks, over that with all.
with

timed as (
    select
        axis_points.x as ranks,
        median(runs.completion_s) as completion_s,
    from axis_points
    inner join runs using (app, problem, point)
    inner join main_problems using (app, problem)
    where
        axis_points.axis = 'ranks'
        and axis_points.app = 'awari'
        and runs.is_used
    group by axis_points.x
)

select
    'double' as key,
    few.completion_s / every.completion_s as ours,
from timed as few
cross join timed as every
where
    every.ranks = (select max(timed.ranks) from timed)
    and few.ranks * 2 = every.ranks
