-- One row per run and direction between two hosts: one-way delays. Where only packets compare the
-- clocks, a delay may be wrong by half of the RTT, about as much as the delay itself. `is_known`:
-- the error is not greater than that.
with

final as (
    select
        run,
        host as sender,
        receiver,
        count(*) as packets,
        min(delay_ns) as delay_min_ns,
        quantile_disc(delay_ns, 0.5) as delay_p50_ns,
        quantile_disc(delay_ns, 0.99) as delay_p99_ns,
        max(delay_error_ns) as delay_error_ns,
        quantile_disc(queue_ns, 0.5) as queue_p50_ns,
        quantile_disc(queue_ns, 0.99) as queue_p99_ns,
        max(queue_ns) as queue_max_ns,
    from stg_one_way
    group by run, host, receiver
)

select
    *,
    coalesce(delay_error_ns <= 1.25 * delay_min_ns, false) as is_known,
from final
