-- One row per run, capture and pair of hosts: what one sends to the queue pairs of the other.
-- `preference`: the sender's capture first, then the receiver's, then any other.
with

placed as (
    select
        pairs.*,
        coalesce(senders.host, pairs.src_ip) as sender,
        coalesce(receivers.host, pairs.dst_ip) as receiver,
        case
            when pairs.host = senders.host then '1'
            when pairs.host = receivers.host then '2'
            else '3'
        end || pairs.host as preference,
    from stg_rdma as pairs
    left join host_addresses as senders
        on pairs.run = senders.run and pairs.src_ip = senders.address
    left join host_addresses as receivers
        on pairs.run = receivers.run and pairs.dst_ip = receivers.address
),

final as (
    select
        run,
        host,
        sender,
        receiver,
        preference,
        count(distinct destination_qp) as queue_pairs,
        sum(packets) as packets,
        sum(payload_bytes) as payload_bytes,
        sum(messages) as messages,
        sum(message_bytes) as message_bytes,
        sum(read_requests) as read_requests,
        sum(lost_packets) as lost_packets,
        sum(resent_packets) as resent_packets,
        sum(repeated_packets) as repeated_packets,
        sum(sequence_nak_packets + rnr_nak_packets + other_nak_packets) as naks,
        sum(cnp_packets) as congestion_notifications,
        sum(ce_packets) as marked_packets,
        sum(rtt_samples) as rtt_samples,
        min(rtt_min_ns) as rtt_min_ns,
        sum(rtt_mean_ns * rtt_samples) / nullif(sum(rtt_samples), 0)
            as rtt_mean_ns,
    from placed
    group by all
)

select * from final
