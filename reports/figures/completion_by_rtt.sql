-- One row per application, problem, socket buffer and RTT: median completion time
-- relative to the baseline, at the baseline's rate.
with

points as (
    select *
    from sweep_points
    where axis = 'rtt' and outcome = 'completion_time'
),

final as (
    select
        points.app,
        points.problem,
        points.buffer_bytes,
        points.x_asked as rtt_asked_ms,
        round(points.x, 4) as rtt_ms,
        round(points.slowdown, 4) as slowdown,
        round(intervals.low, 4) as slowdown_low,
        round(intervals.high, 4) as slowdown_high,
        round(points.completion_s, 4) as completion_s,
        points.runs_used,
        points.runs_left_out,
        points.left_out_because,
        points.is_baseline,
        round(baselines.completion_s, 4) as baseline_s,
        round(baselines.rate_mbit_s, 4) as rate_mbit_s,
    from points
    inner join baselines using (app, problem)
    left join slowdown_intervals as intervals
        on
            points.app = intervals.app
            and points.problem = intervals.problem
            and points.outcome = intervals.outcome
            and points.axis = intervals.axis
            and points.buffer_bytes is not distinct from intervals.buffer_bytes
            and points.x_asked is not distinct from intervals.x_asked
)

select * from final
order by app, problem, buffer_bytes nulls last, rtt_ms, rtt_asked_ms
