-- The time of 16 MB at 16 ms of latency without jitter, over that with 0.2 ms.
select
    'all' as key,
    median(transfer_s) filter (coalesce(jitter_ms, 0) = 0)
    / median(transfer_s) filter (jitter_ms = 0.2) as ours,
from message_times
where
    message_mb = 16
    and loss_percent = 0
    and latency_ms = 16
    and rate_asked_mbit_s = 300
