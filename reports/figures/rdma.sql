-- One row per application, problem, point and pair of hosts: messages of RDMA over UDP, packets
-- lost and sent again, what the receiver answered, and round-trip times; medians over runs.
with

-- Packets are lost and marked on the way: the capture nearest to the receiver shows most of that.
by_pair as (
    select
        run,
        sender,
        receiver,
        arg_min(queue_pairs, preference) as queue_pairs,
        arg_min(packets, preference) as packets,
        arg_min(messages, preference) as messages,
        arg_min(message_bytes, preference) as message_bytes,
        arg_min(read_requests, preference) as read_requests,
        max(lost_packets) as lost_packets,
        arg_min(resent_packets + repeated_packets, preference) as resent_packets,
        arg_min(repeated_packets, preference) as repeated_packets,
        max(naks) as naks,
        max(congestion_notifications) as congestion_notifications,
        max(marked_packets) as marked_packets,
        arg_min(rtt_samples, preference) as rtt_samples,
        arg_min(rtt_min_ns, preference) as rtt_min_ns,
        arg_min(rtt_mean_ns, preference) as rtt_mean_ns,
    from rdma_pairs
    group by all
),

run_sums as (
    select
        forward.* exclude (naks, congestion_notifications),
        -- Answers to the sender's packets come from the receiver.
        backward.naks,
        backward.congestion_notifications,
    from by_pair as forward
    left join by_pair as backward
        on
            forward.run = backward.run
            and forward.sender = backward.receiver
            and forward.receiver = backward.sender
),

final as (
    select
        points.* exclude (label),
        run_sums.sender,
        run_sums.receiver,
        count(*) as runs_used,
        if(count(*) = 1, any_value(run_sums.run), null) as run,
        quantile_disc(run_sums.queue_pairs, 0.5) as queue_pairs,
        quantile_disc(run_sums.packets, 0.5) as packets,
        quantile_disc(run_sums.messages, 0.5) as messages,
        quantile_disc(run_sums.message_bytes, 0.5) as message_bytes,
        quantile_disc(run_sums.read_requests, 0.5) as read_requests,
        quantile_disc(run_sums.lost_packets, 0.5) as lost_packets,
        quantile_disc(run_sums.resent_packets, 0.5) as resent_packets,
        quantile_disc(run_sums.repeated_packets, 0.5) as repeated_packets,
        quantile_disc(run_sums.naks, 0.5) as nak_packets,
        quantile_disc(run_sums.congestion_notifications, 0.5) as cnp_packets,
        quantile_disc(run_sums.marked_packets, 0.5) as marked_packets,
        quantile_disc(run_sums.rtt_samples, 0.5) as rtt_samples,
        median(run_sums.rtt_min_ns) / 1e3 as least_rtt_us,
        median(run_sums.rtt_mean_ns) / 1e3 as mean_rtt_us,
    from run_sums
    inner join point_runs using (run)
    inner join points on point_runs.point = points.point
    group by all
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s,
        round(least_rtt_us, 3) as least_rtt_us,
        round(mean_rtt_us, 3) as mean_rtt_us
    ),
from final
order by app, problem, is_baseline desc, point, sender, receiver
