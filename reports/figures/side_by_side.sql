-- One row per outcome, axis of names and point with another name than the baseline: its median
-- beside that of the point with the baseline's name and everything else equal.
with

named as (
    select
        pairs.*,
        outcome_baselines.outcome,
        outcome_baselines.place,
    from name_pairs as pairs
    inner join outcome_baselines using (app, problem)
),

final as (
    select
        pairs.outcome,
        pairs.axis,
        pairs.name,
        pairs.reference_name,
        reference.label as beside,
        rounded(ratios.ratio) as ratio,
        rounded(ratios.low) as ratio_low,
        rounded(ratios.high) as ratio_high,
        ratios.noise,
        ratios.noise_reason,
        rounded(own.value) as "value",
        rounded(its.value) as reference_value,
        rounded(own.completion_s) as completion_s,
        rounded(its.completion_s) as reference_s,
        coalesce(own.runs_used, 0) as runs_used,
        coalesce(its.runs_used, 0) as reference_runs,
        pairs.reference_point,
        pairs.place,
        points.*,
    from named as pairs
    inner join points using (app, problem, point)
    inner join points as reference on pairs.reference_point = reference.point
    left join name_ratios as ratios
        on
            pairs.axis = ratios.axis
            and pairs.point = ratios.point
            and pairs.outcome = ratios.outcome
    left join point_outcomes as own
        on pairs.point = own.point and pairs.outcome = own.outcome
    left join point_outcomes as its
        on pairs.reference_point = its.point and pairs.outcome = its.outcome
)

select * exclude (label, place) from final
order by app, problem, place, axis, point
