-- The largest end games, and the most ranks.
select
    'stones' as key,
    max(try_cast(regexp_extract(problem, 'stones (\d+)', 1) as integer)) as ours,
from points
where app = 'awari'
union all
select
    'ranks',
    max(ranks),
from points
where app = 'awari'
