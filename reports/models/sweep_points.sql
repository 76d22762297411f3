-- One row per outcome and point of a line through the baseline: median slowdown over its runs.
with

final as (
    select
        app,
        problem,
        outcome,
        axis,
        buffer_bytes,
        bool_or(has_baseline_buffer) as has_baseline_buffer,
        x_asked,
        ---------- the measured value of the axis, if every run has one
        coalesce(
            case
                when bool_and(is_x_measured) filter (is_used)
                    then median(x) filter (is_used)
            end,
            x_asked,
            median(x)
        ) as x,
        coalesce(bool_and(is_x_measured) filter (is_used), false)
            as is_x_measured,
        ---------- outcome
        if(min("value") filter (is_used) > 0, median(slowdown) filter (is_used), null)
            as slowdown,
        median(completion_s) filter (is_used) as completion_s,
        count(*) filter (is_used) as runs_used,
        count(*) filter (not is_used) as runs_left_out,
        string_agg(
            distinct left_out_because, '; '
            order by left_out_because
        )
        filter (not is_used) as left_out_because,
        bool_or(is_baseline) as is_baseline,
    from sweep_runs
    group by app, problem, outcome, axis, buffer_bytes, x_asked
)

select * from final
