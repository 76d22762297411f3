-- One row per application, problem, point and direction between two hosts: one-way delays, their
-- excess over the least, and the rate of the bottleneck link; medians over runs.
with

judged as (
    select
        path_delays.*,
        path_delays.is_known
        and coalesce(sending.has_delays and receiving.has_delays, true)
            as is_claimed,
    from path_delays
    left join host_grades as sending
        on path_delays.run = sending.run and path_delays.sender = sending.host
    left join host_grades as receiving
        on
            path_delays.run = receiving.run
            and path_delays.receiver = receiving.host
),

-- A delay that the captures do not support is null; the time in queues does not depend on clock
-- offsets.
delays as (
    select
        * replace (
            if(is_claimed, delay_min_ns, null) as delay_min_ns,
            if(is_claimed, delay_p50_ns, null) as delay_p50_ns,
            if(is_claimed, delay_p99_ns, null) as delay_p99_ns,
            if(is_claimed, delay_error_ns, null) as delay_error_ns
        ),
    from judged
),

final as (
    select
        points.* exclude (label),
        delays.sender,
        delays.receiver,
        senders.site <> receivers.site as is_between_sites,
        count(*) as runs_used,
        if(count(*) = 1, any_value(delays.run), null) as run,
        quantile_disc(delays.packets, 0.5) as packets,
        median(delays.delay_min_ns) / 1e6 as delay_min_ms,
        median(delays.delay_p50_ns) / 1e6 as delay_p50_ms,
        median(delays.delay_p99_ns) / 1e6 as delay_p99_ms,
        max(delays.delay_error_ns) / 1e6 as delay_error_ms,
        median(delays.queue_p50_ns) / 1e6 as queue_p50_ms,
        median(delays.queue_p99_ns) / 1e6 as queue_p99_ms,
        max(delays.queue_max_ns) / 1e6 as queue_max_ms,
        median(path_rates.bottleneck_mbit_s) as bottleneck_mbit_s,
    from delays
    inner join point_runs using (run)
    inner join points on point_runs.point = points.point
    left join path_rates using (run, sender, receiver)
    left join hosts as senders
        on delays.run = senders.run and delays.sender = senders.host
    left join hosts as receivers
        on delays.run = receivers.run and delays.receiver = receivers.host
    group by all
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by
    app, problem, is_baseline desc, point, is_between_sites desc, sender, receiver
