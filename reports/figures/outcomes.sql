-- One row per run and outcome that it reported, completion time first.
with

final as (
    select
        run_outcomes.run,
        run_outcomes.outcome as name,
        run_outcomes.unit,
        run_outcomes.better,
        run_outcomes.value,
        run_outcomes.is_used,
        run_outcomes.repetition,
        run_outcomes.place,
        points.label,
        points.* exclude (label),
    from run_outcomes
    inner join points using (app, problem, point)
    where run_outcomes.value is not null
)

select * exclude (place) from final
order by app, problem, point, repetition, run, place
