-- Times of messages without jitter.
select
    items.key,
    median(times.transfer_s) as ours,
from figure_transfer_errors as times
inner join paper_items as items
    on
        items.paper = 'uklight'
        and items.item = 'table 1'
        and times.message_mb = (items.cell ->> 'message_mb')::double
        and times.loss_percent = (items.cell ->> 'loss_percent')::double
        and times.latency_ms = (items.cell ->> 'latency_ms')::double
where times.jitter_fraction = 0
group by items.key
