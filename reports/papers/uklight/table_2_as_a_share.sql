-- Times of messages with jitter, read as a share of the added latency.
select
    items.key,
    median(times.transfer_s) as ours,
from message_times as times
inner join paper_items as items
    on
        items.paper = 'uklight'
        and items.item = 'table 2 as a share'
        and times.message_mb = (items.cell ->> 'message_mb')::double
        and times.jitter_fraction = (items.cell ->> 'jitter')::double
        and times.latency_ms = (items.cell ->> 'latency_ms')::double
where times.loss_percent = 0 and times.rate_asked_mbit_s = 300
group by items.key
