-- One row per line of the sweep and point on it: median completion time relative to the
-- line's baseline, along every axis that was varied.
with

timed as (
    select
        app,
        problem,
        point,
        median(completion_s) filter (is_used) as completion_s,
        count(*) filter (is_used) as runs_used,
        count(*) filter (not is_used) as runs_left_out,
        string_agg(
            distinct coalesce(reason, status), '; '
            order by coalesce(reason, status)
        )
        filter (not is_used) as left_out_because,
    from runs
    where not is_warmup
    group by app, problem, point
),

bases as (
    select
        axis_points.axis,
        axis_points.unit,
        axis_points.line,
        timed.completion_s as baseline_s,
    from axis_points
    inner join timed using (app, problem, point)
    where axis_points.is_reference
),

final as (
    select
        axis_points.axis,
        axis_points.kind,
        axis_points.unit,
        rounded(axis_points.x) as x,
        axis_points.shown,
        axis_points.is_reference,
        rounded(timed.completion_s / bases.baseline_s) as slowdown,
        rounded(intervals.low) as slowdown_low,
        rounded(intervals.high) as slowdown_high,
        intervals.noise,
        intervals.noise_reason,
        rounded(timed.completion_s) as completion_s,
        rounded(bases.baseline_s) as baseline_s,
        timed.runs_used,
        timed.runs_left_out,
        timed.left_out_because,
        points.*,
    from axis_points
    inner join points using (app, problem, point)
    inner join timed using (app, problem, point)
    left join bases
        on
            axis_points.axis = bases.axis
            and axis_points.unit = bases.unit
            and axis_points.line = bases.line
    left join line_intervals as intervals
        on
            axis_points.axis = intervals.axis
            and axis_points.unit = intervals.unit
            and axis_points.line = intervals.line
            and axis_points.point = intervals.point
)

select * exclude (label) from final
order by app, axis, unit, problem, x nulls first, point
