-- One row per capture point and queue pair to which packets of RDMA over UDP go; columns that the
-- files lack are null.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,            -- whose capture it is
        null::bigint as connection,       -- UDP flow of the first packet
        null::varchar as src_ip,
        null::varchar as dst_ip,
        null::integer as destination_qp,
        null::integer as peer_qp,         -- the sender's own
        null::varchar as service,         -- 'rc', 'uc', 'ud' or 'xrc'
        null::timestamptz_ns as first_time,
        null::timestamptz_ns as last_time,
        null::bigint as packets,
        null::bigint as wire_bytes,
        null::bigint as payload_bytes,    -- each packet number once
        null::bigint as messages,
        null::bigint as message_bytes,
        null::bigint as read_requests,
        null::bigint as atomic_requests,
        null::bigint as lost_packets,     -- before the capture point
        null::bigint as resent_packets,   -- sent again, missing or asked for
        null::bigint as repeated_packets,     -- sent again without need
        null::bigint as out_of_order_packets,
        null::bigint as restarts,
        -- answers to what the other direction sent
        null::bigint as ack_packets,
        null::bigint as sequence_nak_packets,
        null::bigint as rnr_nak_packets,
        null::bigint as other_nak_packets,
        null::bigint as cnp_packets,
        null::bigint as ce_packets,       -- marked by a queue
        null::bigint as fecn_packets,
        null::bigint as becn_packets,
        null::bigint as rtt_samples,
        null::bigint as rtt_min_ns,
        null::bigint as rtt_mean_ns,
        null::bigint as rtt_max_ns
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_rdma
)

select * from filled
where run not in (select run from left_out)
