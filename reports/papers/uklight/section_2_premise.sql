-- Times of 4 MB by the model with the paper's parameters; see transfer_errors.
select
    latency_ms::integer::varchar as key,
    median(stated_s) as ours,
from figure_transfer_errors
where message_mb = 4 and loss_percent = 0 and jitter_fraction = 0
group by latency_ms
