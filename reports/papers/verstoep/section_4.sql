-- The largest end games, and the most ranks.
select
    'stones' as key,
    max(regexp_extract(problem, 'stones (\d+)', 1)::integer) as ours,
from points
where app = 'awari'
union all
select
    'ranks',
    max(ranks),
from points
where app = 'awari'
