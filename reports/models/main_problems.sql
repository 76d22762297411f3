-- One row per application: the problem that was swept, which has the most points; others are second
-- sizes.
with

counted as (
    select
        app,
        problem,
        count(*) as points,
    from points
    group by app, problem
)

select distinct on (app)
    app,
    problem,
from counted
order by app, points desc, problem
