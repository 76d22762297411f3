-- Times of messages with jitter.
select
    items.key,
    median(times.transfer_s) as ours,
from figure_transfer_errors as times
inner join paper_items as items
    on
        items.paper = 'uklight'
        and items.item = 'table 2'
        and times.message_mb = (items.cell ->> 'message_mb')::double
        and times.jitter_fraction = (items.cell ->> 'jitter_fraction')::double
        and times.latency_ms = (items.cell ->> 'latency_ms')::double
where times.loss_percent = 0
group by items.key
