-- One row per application, problem, socket buffer and rate: median completion time
-- relative to the baseline, at the baseline's RTT.
select
    app,
    problem,
    buffer_bytes,
    x_asked as rate_asked_mbit_s,
    x as rate_mbit_s,
    slowdown,
    slowdown_low,
    slowdown_high,
    completion_s,
    runs_used,
    runs_left_out,
    left_out_because,
    is_baseline,
    baseline_s,
    baseline_rtt_ms as rtt_ms,
from completion_lines
where axis = 'rate'
order by
    app, problem, buffer_bytes nulls last,
    rate_mbit_s desc nulls first, rate_asked_mbit_s desc nulls first
