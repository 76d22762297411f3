-- One row per point of a line that varies one axis from the baseline: median completion time, also
-- relative to the baseline, with RTT and rate of the baseline.
with

lines as (
    select *
    from sweep_points
    where outcome = 'completion_time'
),

final as (
    select
        lines.app,
        lines.problem,
        lines.buffer_bytes,
        lines.axis,
        lines.x_asked,
        round(lines.x, 4) as x,
        round(lines.slowdown, 4) as slowdown,
        round(intervals.low, 4) as slowdown_low,
        round(intervals.high, 4) as slowdown_high,
        round(lines.completion_s, 4) as completion_s,
        lines.runs_used,
        lines.runs_left_out,
        lines.left_out_because,
        lines.is_baseline,
        round(baselines.completion_s, 4) as baseline_s,
        round(baselines.rtt_ms, 4) as baseline_rtt_ms,
        round(baselines.rate_mbit_s, 4) as baseline_rate_mbit_s,
    from lines
    inner join baselines using (app, problem)
    left join slowdown_intervals as intervals
        on
            lines.app = intervals.app
            and lines.problem = intervals.problem
            and lines.outcome = intervals.outcome
            and lines.axis = intervals.axis
            and lines.buffer_bytes is not distinct from intervals.buffer_bytes
            and lines.x_asked is not distinct from intervals.x_asked
)

select * from final
