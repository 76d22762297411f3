-- What another application on the same path costs, and what the largest RTT costs N Queens on the
-- widest path.
with

shared as (
    select
        side.app,
        side.name,
        side.reference_point,
        side.ratio,
    from figure_side_by_side as side
    inner join main_problems as main
        on side.app = main.app and side.problem = main.problem
    where side.axis = 'beside'
)

select
    'nqueens' as key,
    arg_max(far.slowdown, far.rtt_asked_ms) as ours,
from figure_completion as far
inner join main_problems as main
    on far.app = main.app and far.problem = main.problem
where far.app = 'nqueens' and far.axis = 'rtt'
union all
select
    name,
    max(ratio),
from shared
where name in ('jigsaw', 'ssor') and app != name
group by name
union all
select
    'ssor over jigsaw',
    min(lu.ratio / puzzle.ratio),
from shared as lu
inner join shared as puzzle using (app, reference_point)
where lu.name = 'ssor' and puzzle.name = 'jigsaw'
union all
select
    'taskgraph',
    max(ratio),
from shared
where app = 'taskgraph' and name = 'taskgraph'
