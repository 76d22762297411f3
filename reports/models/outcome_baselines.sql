-- One row per application, problem and outcome: its median at the baseline, over the runs that
-- count. It has no cost where it is 0 in one of them.
with

medians as (
    select
        app,
        problem,
        outcome,
        any_value(unit) as unit,
        any_value(better) as better,
        any_value(place) as place,
        median("value") filter (is_used and is_baseline) as "value",
        min("value") filter (is_used and is_baseline) > 0 as has_cost,
        count(*) filter (is_used and is_baseline) as runs_used,
    from run_outcomes
    group by app, problem, outcome
),

final as (
    select
        * exclude (has_cost),
        case
            when has_cost then if(better = 'more', 1 / "value", "value")
        end as cost,
    from medians
)

select * from final
