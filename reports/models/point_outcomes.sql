-- One row per point and outcome: its median over the runs that count.
with

medians as (
    select
        app,
        problem,
        point,
        outcome,
        any_value(unit) as outcome_unit,
        any_value(better) as better,
        any_value(place) as place,
        median(cost) filter (is_used) as cost,
        median(completion_s) filter (is_used) as completion_s,
        count(*) filter (is_used) as runs_used,
        count(*) filter (not is_used) as runs_left_out,
        string_agg(
            distinct coalesce(reason, status), '; '
            order by coalesce(reason, status)
        )
        filter (not is_used) as left_out_because,
    from run_outcomes
    where not is_warmup
    group by app, problem, point, outcome
),

final as (
    select
        *,
        if(better = 'more', 1 / cost, cost) as value,
    from medians
)

select * from final
