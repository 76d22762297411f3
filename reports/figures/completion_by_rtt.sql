-- One row per application, problem, socket buffer and RTT: median completion time
-- relative to the baseline, at the baseline's rate.
select
    app,
    problem,
    buffer_bytes,
    x_asked as rtt_asked_ms,
    x as rtt_ms,
    slowdown,
    slowdown_low,
    slowdown_high,
    completion_s,
    runs_used,
    runs_left_out,
    left_out_because,
    is_baseline,
    baseline_s,
    baseline_rate_mbit_s as rate_mbit_s,
from completion_lines
where axis = 'rtt'
order by app, problem, buffer_bytes nulls last, rtt_ms, rtt_asked_ms
