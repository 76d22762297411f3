-- One row per capture file and interface; columns that the files lack are null.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,
        null::varchar as file,
        null::integer as interface,
        null::bigint as snaplen,             -- bytes
        null::bigint as ts_resolution_ns,    -- of its time stamps
        null::bigint as packets,
        null::bigint as wire_bytes,
        null::timestamptz_ns as first_time,
        null::timestamptz_ns as last_time,
        null::boolean as truncated_tail,
        null::bigint as undecoded_packets,   -- belong to no flow
        -- of these: ARP and the like; and what should belong to a flow
        null::bigint as not_ip_packets,
        null::bigint as unknown_link_packets,
        null::bigint as cut_packets,
        null::bigint as malformed_packets,
        null::bigint as bad_checksum_packets,
        null::bigint as unverified_packets,
        null::bigint as unread_tcp_packets,
        null::bigint as unread_rdma_packets,
        null::bigint as unread_subframes,    -- after the first of their frame
        null::bigint as tunnelled_packets,
        null::bigint as fragments,
        null::bigint as super_packets,       -- merged by offloading
        null::bigint as snapped_packets,     -- captured shorter than on the wire
        null::bigint as duplicate_packets,   -- copies of others, in no other count
        null::bigint as duplicate_bytes,
        null::bigint as distant_duplicate_packets,
        null::bigint as reordered_packets,   -- put back into time order
        null::bigint as late_packets,        -- too late for that
        null::bigint as length_conflict_packets,
        null::bigint as times_out_of_range,
        null::bigint as untimed_packets,     -- of Simple Packet Blocks
        null::bigint as time_regressions,
        null::bigint as largest_step_back_ns,
        -- before a filter took some away, those dropped included
        null::bigint as received_packets,
        null::bigint as dropped_kernel,      -- null: there was no manifest
        null::bigint as dropped_interface
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_captures
),

-- Moves times to the clock that most hosts of the run share.
shifted as (
    select
        filled.* replace (
            case
                when not is_in_time_range(first_time, low_ns, high_ns) then null
                when shift_ns is null then first_time
                else earlier(first_time, shift_ns)
            end as first_time,
            case
                when not is_in_time_range(last_time, low_ns, high_ns) then null
                when shift_ns is null then last_time
                else earlier(last_time, shift_ns)
            end as last_time
        ),
    from filled
    left join clock_shifts using (run, host)
    left join time_ranges using (run)
)

select * from shifted
where run not in (select run from left_out)
