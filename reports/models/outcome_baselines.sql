-- One row per application, problem and outcome: its median at the baseline, over the runs that
-- count. Of an outcome of which more is better it is taken of 1/value, as slowdowns are.
with

medians as (
    select
        app,
        problem,
        outcome,
        any_value(unit) as unit,
        any_value(better) as better,
        any_value(place) as place,
        median(cost) filter (is_used and is_baseline) as cost,
        count(*) filter (is_used and is_baseline) as runs_used,
    from run_outcomes
    group by app, problem, outcome
),

final as (
    select
        *,
        if(better = 'more', 1 / cost, cost) as value,
    from medians
)

select * from final
