-- One row per size of a message, loss, jitter and latency: seconds for one message, one
-- way, as the application (pingpong) measured it; the median over the repetitions.
select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    )
from message_times
order by
    message_mb, rate_asked_mbit_s desc, buffer_bytes, links, congestion,
    jitter_fraction nulls last, jitter_ms, loss_percent, latency_ms, app,
    problem, point
