-- One row per capture file and interface: what its grade depends on.
with

connections as (
    select
        run,
        host,
        count(distinct connection) filter (start = 'midstream')
            as midstream_connections,
        -- Of TCP directions with payload. A probe repeats nothing that was lost. Older tables have
        -- only the number of window probes, each of which may repeat a byte.
        sum(
            greatest(
                retransmitted_packets - coalesce(retransmitted_probes, window_probes, 0), 0
            )
        ) filter (has_data)::bigint as repeated_packets,
        sum(retransmitted_bytes) filter (has_data)::bigint as repeated_bytes,
        sum(payload_bytes) filter (has_data)::bigint as payload_bytes,
        -- segments that a receiver would not accept
        sum(outside_window_packets)::bigint as outside_window_packets,
        sum(stray_syn_packets)::bigint as stray_syn_packets,
        sum(stray_syn_ack_packets)::bigint as stray_syn_ack_packets,
        sum(stray_rst_packets)::bigint as stray_rst_packets,
        sum(unseen_acked_bytes)::bigint as unseen_acked_bytes,
    from (
        select
            *,
            protocol = 'tcp' and payload_bytes > 0 as has_data,
        from stg_flows
    )
    group by run, host
),

-- hosts that have only Zeek's logs
missed as (
    select
        run,
        host,
        sum(missed_bytes)::bigint as missed_bytes,
    from (
        select distinct
            run,
            host,
            connection,
            missed_bytes,
        from stg_zeek_flows
    )
    anti join stg_throughput using (run, host)
    group by run, host
),

-- the first packet of a file need not be the earliest, nor the last one the latest
times as (
    select
        run,
        host,
        min(first_ns) as begin_ns,
        max(last_ns) as end_ns,
    from (
        select
            run,
            host,
            epoch_ns(first_time) as first_ns,
            epoch_ns(last_time) as last_ns,
        from stg_captures
        union all
        select
            run,
            host,
            first_ns,
            last_ns,
        from stg_flows
    )
    group by run, host
),

-- Hosts whose packets were matched with another host's; the direction whose delay is known best is
-- used.
delays as (
    select
        run,
        unnest([sender, receiver]) as host,
        delay_min_ns,
        delay_error_ns,
        delay_error_ns / greatest(delay_min_ns, 1) as error_share,
    from path_delays
),

clocks as (
    select
        run,
        host,
        arg_min(delay_error_ns, error_share) as delay_error_ns,
        arg_min(delay_min_ns, error_share) as least_delay_ns,
    from delays
    group by run, host
),

-- Bins with a packet; only captures longer than an hour are searched for silences.
bins as (
    select distinct
        run,
        host,
        epoch_ns(bin_start) as bin_begin_ns,
        epoch_ns(bin_start) + bin_ns as bin_end_ns,
    from stg_throughput
    where
        (run, host) in (
            select (run, host) from times
            where end_ns - begin_ns > 3600 * 1000000000::bigint
        )
),

pauses as (
    select
        run,
        host,
        bin_end_ns as silence_from_ns,
        lead(bin_begin_ns) over (
            partition by run, host order by bin_begin_ns
        ) - bin_end_ns as silence_ns,
    from bins
),

silences as (
    select
        run,
        host,
        arg_max(silence_from_ns, silence_ns) as silence_from_ns,
        max(silence_ns) as silence_ns,
    from pauses
    group by run, host
),

final as (
    select
        run,
        host,
        file,
        interface,
        coalesce(packets, 0) as packets,
        coalesce(dropped_kernel, 0) + coalesce(dropped_interface, 0)
            as dropped_packets,
        received_packets,
        -- dumpcap's count of interface drops includes the kernel's drops.
        coalesce(dropped_kernel, dropped_interface) is not null
            as has_drop_counts,
        -- Tools write no statistics for an idle interface.
        has_drop_counts or (
            coalesce(packets, 0) = 0
            and bool_or(has_drop_counts) over (partition by run, host, file)
        ) as is_drops_known,
        coalesce(truncated_tail, false) as is_truncated,
        ts_resolution_ns,
        super_packets,
        duplicate_packets,
        duplicate_bytes,
        distant_duplicate_packets,
        reordered_packets,
        late_packets,
        length_conflict_packets,
        times_out_of_range,
        untimed_packets,
        tunnelled_packets,
        not_ip_packets,
        unknown_link_packets,
        cut_packets,
        malformed_packets,
        bad_checksum_packets,
        -- ARP and the like belong to no flow, but nothing is wrong with them
        coalesce(stg_captures.undecoded_packets, 0)
        - coalesce(not_ip_packets, 0) as undecoded_packets,
        stg_captures.undecoded_packets
        - coalesce(not_ip_packets, 0)
        - coalesce(unknown_link_packets, 0)
        - coalesce(cut_packets, 0)
        - coalesce(malformed_packets, 0)
        - coalesce(bad_checksum_packets, 0) as other_undecoded_packets,
        unverified_packets,
        unread_tcp_packets,
        unread_subframes,
        time_regressions,
        largest_step_back_ns,
        fragments,
        midstream_connections,
        one_way_connections,
        translated_connections,
        simultaneous_connections,
        alike_connections,
        repeated_packets,
        repeated_bytes,
        payload_bytes,
        outside_window_packets,
        stray_syn_packets,
        stray_syn_ack_packets,
        stray_rst_packets,
        unseen_acked_bytes,
        missed_bytes,
        ---------- of all files and interfaces of the host
        begin_ns,
        end_ns,
        silence_from_ns,
        silence_ns,
        coalesce(clock_offsets.shift_ns, 0) as clock_shift_ns,
        clocks.host is not null as is_clock_compared,
        clocks.delay_error_ns,
        clocks.least_delay_ns,
        ---------- not part of the grade
        snaplen,
        wire_bytes,
        epoch_ns(first_time) as first_ns,
        epoch_ns(last_time) as last_ns,
        dropped_kernel,
        dropped_interface,
    from stg_captures
    left join connections using (run, host)
    left join odd_connections using (run, host)
    left join missed using (run, host)
    left join times using (run, host)
    left join silences using (run, host)
    left join clock_offsets using (run, host)
    left join clocks using (run, host)
)

select * from final
