-- The share of steps of latency, at one jitter, that make a message slower.
with

steps as (
    select
        message_mb,
        transfer_s > lag(transfer_s) over (
            partition by message_mb, jitter_ms order by latency_ms
        ) as is_slower,
    from (
        select
            message_mb,
            jitter_ms,
            latency_ms,
            median(transfer_s) as transfer_s,
        from message_times
        where jitter_ms in (0.2, 0.4, 0.8) and loss_percent = 0
        group by all
    )
)

select
    message_mb::integer::varchar as key,
    avg(is_slower::integer) as ours,
from steps
group by message_mb
having count(is_slower) > 0
