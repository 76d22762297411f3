-- The share of steps, of latency at one loss or of loss at one latency, that make a message slower.
with

cells as (
    select
        message_mb,
        loss_percent,
        latency_ms,
        median(transfer_s) as transfer_s,
    from message_times
    where jitter_fraction = 0
    group by all
),

steps as (
    select
        message_mb,
        transfer_s > lag(transfer_s) over (
            partition by message_mb, loss_percent order by latency_ms
        ) as is_slower,
    from cells
    union all
    select
        message_mb,
        transfer_s > lag(transfer_s) over (
            partition by message_mb, latency_ms order by loss_percent
        ),
    from cells
)

select
    message_mb::integer::varchar as key,
    avg(is_slower::integer) as ours,
from steps
group by message_mb
