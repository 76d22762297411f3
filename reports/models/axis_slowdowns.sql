-- One row per outcome, line of the sweep and point on it: the outcome's median, how many times
-- worse that is than at the line's baseline, and how certain that is.
with

bases as (
    select
        axis_points.axis,
        axis_points.unit,
        axis_points.line,
        point_outcomes.outcome,
        point_outcomes.cost as base_cost,
        point_outcomes.value as base,
    from axis_points
    inner join point_outcomes using (app, problem, point)
    where axis_points.is_reference
),

final as (
    select
        axis_points.*,
        point_outcomes.outcome,
        point_outcomes.outcome_unit,
        point_outcomes.better,
        point_outcomes.place,
        point_outcomes.value,
        bases.base,
        point_outcomes.cost / bases.base_cost as slowdown,
        intervals.low as slowdown_low,
        intervals.high as slowdown_high,
        intervals.noise,
        intervals.noise_reason,
        point_outcomes.runs_used,
        point_outcomes.runs_left_out,
        point_outcomes.left_out_because,
    from axis_points
    inner join point_outcomes using (app, problem, point)
    left join bases
        on
            axis_points.axis = bases.axis
            and axis_points.unit = bases.unit
            and axis_points.line = bases.line
            and point_outcomes.outcome = bases.outcome
    left join line_intervals as intervals
        on
            axis_points.axis = intervals.axis
            and axis_points.unit = intervals.unit
            and axis_points.line = intervals.line
            and axis_points.point = intervals.point
            and point_outcomes.outcome = intervals.outcome
)

select * from final
