-- The link and the sockets of the runs that measure a message.
with

own as (
    select
        median(rate_asked_mbit_s) as rate,
        min(rtt_ms) as rtt,
        median(buffer_bytes) as buffer,
    from message_times
)

select
    key,
    ours,
from (
    unpivot (
        select
            rate::double as rate,
            rtt::double as rtt,
            buffer::double as buffer,
        from own
    )
    on rate, rtt, buffer
    into name key value ours
)
