-- What jitter of 0.8 adds to the time of 16 MB at 16 ms of latency, over what it adds at 2 ms, for
-- both readings of the 0.8: milliseconds, or a share of the latency.
with

cells as (
    select
        latency_ms,
        coalesce(jitter_ms, 0) as jitter_ms,
        median(transfer_s) as transfer_s,
    from message_times
    where
        message_mb = 16
        and loss_percent = 0
        and latency_ms in (2, 16)
        and rate_asked_mbit_s = 300
    group by all
),

added as (
    select
        own.latency_ms,
        own.jitter_ms,
        own.transfer_s - plain.transfer_s as added_s,
    from cells as own
    inner join cells as plain
        on own.latency_ms = plain.latency_ms and plain.jitter_ms = 0
)

select
    'ms' as key,
    max(added_s) filter (latency_ms = 16)
    / max(added_s) filter (latency_ms = 2) as ours,
from added
where jitter_ms = 0.8
union all
select
    'share',
    max(added_s) filter (latency_ms = 16)
    / max(added_s) filter (latency_ms = 2),
from added
where jitter_ms = 0.8 * latency_ms
