-- One row per capture point, connection and direction; columns that the files
-- lack are null.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,            -- whose capture it is
        null::bigint as connection,       -- number within the capture
        null::varchar as direction,       -- 'forward' from the initiator
        null::varchar as protocol,
        null::varchar as src_ip,
        null::integer as src_port,
        null::varchar as dst_ip,
        null::integer as dst_port,
        null::integer as vlan,
        null::varchar as tunnel,
        null::bigint as tunnel_id,
        null::timestamptz_ns as first_time,
        null::timestamptz_ns as last_time,
        null::bigint as duration_ns,
        null::bigint as packets,
        null::bigint as wire_bytes,       -- frames with link header, without FCS
        null::bigint as ip_bytes,         -- of the innermost IP packets
        null::bigint as payload_bytes,    -- by the headers' own lengths
        null::varchar as start,           -- 'syn' or 'midstream'
        null::varchar as "end",           -- 'fin', 'rst' or 'open'
        null::bigint as outgoing_packets,     -- marked in the file as sent by the capturing host
        null::bigint as ecn_capable_packets,  -- packets that a queue may mark
        null::bigint as ce_packets,       -- packets that a queue marked
        null::bigint as ece_packets,      -- packets that report marks to the other side
        null::bigint as cwr_packets,      -- packets that answer such a report
        null::bigint as retransmitted_packets,
        null::bigint as retransmitted_bytes,  -- bytes sent again
        null::bigint as largest_packet_bytes,  -- of IP; merged by offloading, if above the MSS
        null::integer as mss,             -- announced by the sender
        null::bigint as outside_window_packets,  -- segments that a receiver would not accept
        null::bigint as stray_syn_packets,
        null::bigint as stray_syn_ack_packets,
        null::bigint as stray_rst_packets,
        null::bigint as unseen_acked_bytes,  -- acknowledged, and in no packet of the capture
        null::bigint as window_probes,
        null::bigint as retransmitted_probes,  -- of retransmitted_packets: no loss
        null::bigint as max_window_bytes,     -- advertised by the sender
        null::bigint as max_in_flight_bytes,  -- sent and not acknowledged, at this capture point
        null::bigint as rtt_min_ns,       -- from the capture point to the receiver and back
        null::bigint as syn_packets,
        null::bigint as fin_packets,
        null::bigint as rst_packets,
        -- time for which each of these held the sender back; null if not TCP
        null::bigint as app_limited_ns,
        null::bigint as sender_limited_ns,    -- its socket buffer
        null::bigint as receiver_limited_ns,  -- the window it was given
        null::bigint as network_limited_ns,
        null::bigint as unknown_limited_ns,   -- headers do not show which
        -- the part of app_limited_ns in which an answer was under way, and the number of answers
        null::bigint as peer_wait_ns,
        null::bigint as peer_waits
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_flows
),

-- A time outside the range of `time_ranges` takes the value of the other one; a flow with both
-- outside is left out.
bounded as (
    select
        * exclude (low_ns, high_ns),
        is_in_time_range(first_time, low_ns, high_ns) as has_first,
        is_in_time_range(last_time, low_ns, high_ns) as has_last,
    from filled
    left join time_ranges using (run)
    where
        run not in (select run from left_out)
        and (has_first or has_last)
),

renamed as (
    select
        * exclude (first_time, last_time, shift_ns, has_first, has_last)
        replace (
            if(has_first and has_last, duration_ns, 0) as duration_ns,
            if(has_first and has_last, app_limited_ns, null) as app_limited_ns,
            if(has_first and has_last, sender_limited_ns, null)
                as sender_limited_ns,
            if(has_first and has_last, receiver_limited_ns, null)
                as receiver_limited_ns,
            if(has_first and has_last, network_limited_ns, null)
                as network_limited_ns,
            if(has_first and has_last, unknown_limited_ns, null)
                as unknown_limited_ns,
            if(has_first and has_last, peer_wait_ns, null) as peer_wait_ns
        ),
        -- on the clock that most hosts of the run share
        epoch_ns(if(has_first, first_time, last_time)) - coalesce(shift_ns, 0)
            as first_ns,
        epoch_ns(if(has_last, last_time, first_time)) - coalesce(shift_ns, 0)
            as last_ns,
    from bounded
    left join clock_shifts using (run, host)
)

select * from renamed
