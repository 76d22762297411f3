-- One row per line of the sweep and point on it: median completion time relative to the
-- line's baseline, along every axis that was varied.
with

final as (
    select
        lines.axis,
        lines.kind,
        lines.unit,
        rounded(lines.x) as x,
        lines.shown,
        lines.is_reference,
        rounded(lines.slowdown) as slowdown,
        rounded(lines.slowdown_low) as slowdown_low,
        rounded(lines.slowdown_high) as slowdown_high,
        lines.noise,
        lines.noise_reason,
        rounded(lines.value) as completion_s,
        rounded(lines.base) as baseline_s,
        lines.runs_used,
        lines.runs_left_out,
        lines.left_out_because,
        points.*,
    from axis_slowdowns as lines
    inner join points using (app, problem, point)
    where lines.outcome = 'completion_time'
)

select * exclude (label) from final
order by app, axis, unit, problem, x nulls first, point
