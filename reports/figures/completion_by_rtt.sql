-- One row per application, problem, socket buffer and RTT: median completion time
-- relative to the baseline, at the baseline's rate.
with

curve as (
    select *
    from sweep_points
    where axis = 'rtt' and outcome = 'completion_time'
),

final as (
    select
        curve.app,
        curve.problem,
        curve.buffer_bytes,
        curve.x_asked as rtt_asked_ms,
        round(curve.x, 4) as rtt_ms,
        round(curve.slowdown, 4) as slowdown,
        round(intervals.low, 4) as slowdown_low,
        round(intervals.high, 4) as slowdown_high,
        round(curve.completion_s, 4) as completion_s,
        curve.runs_used,
        curve.runs_left_out,
        curve.left_out_because,
        curve.is_baseline,
        round(baselines.completion_s, 4) as baseline_s,
        round(baselines.rate_mbit_s, 4) as rate_mbit_s,
    from curve
    inner join baselines using (app, problem)
    left join slowdown_intervals as intervals
        on
            curve.app = intervals.app
            and curve.problem = intervals.problem
            and curve.outcome = intervals.outcome
            and curve.axis = intervals.axis
            and curve.buffer_bytes is not distinct from intervals.buffer_bytes
            and curve.x_asked is not distinct from intervals.x_asked
)

select * from final
order by app, problem, buffer_bytes nulls last, rtt_ms, rtt_asked_ms
