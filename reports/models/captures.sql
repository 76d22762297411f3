-- One row per capture file: what it may be used for, as a grade, and why.
-- A: everything. B: read with the notes. C: totals, throughput in bins of 100 ms
-- and more, completion. D: completion only. -: drops unknown, read as B.
with

midstream as (
    select
        run,
        host,
        count(*) filter (start = 'midstream') as midstream_flows,
    from stg_flows
    group by run, host
),

files as (
    select
        run,
        host,
        file,
        interface,
        snaplen,
        coalesce(packets, 0) as packets,
        wire_bytes,
        epoch_ns(first_time) as first_ns,
        epoch_ns(last_time) as last_ns,
        dropped_kernel,
        dropped_interface,
        coalesce(dropped_kernel, 0) + coalesce(dropped_interface, 0) as dropped,
        coalesce(super_packets, 0) as super_packets,
        coalesce(time_regressions, 0) as time_regressions,
        -- ARP and the like belong to no flow, but nothing is wrong with them
        coalesce(undecoded_packets, 0) - coalesce(not_ip_packets, 0)
            as undecoded_packets,
        coalesce(truncated_tail, false) as is_truncated,
        dropped_kernel is not null as has_manifest,
        coalesce(midstream_flows, 0) as midstream_flows,
    from stg_captures
    left join midstream using (run, host)
),

shares as (
    select
        *,
        dropped / greatest(packets + dropped, 1) as dropped_share,
        super_packets / greatest(packets, 1) as super_share,
        undecoded_packets / greatest(packets, 1) as undecoded_share,
    from files
),

graded as (
    select
        *,
        case
            when dropped_share > 0.01 or undecoded_share > 0.01 then 'D'
            when is_truncated and not has_manifest then 'D'
            when dropped_share > 0.0001 or super_share > 0.05 then 'C'
            when is_truncated or time_regressions > 0 then 'C'
            when dropped > 0 or super_packets > 0 or midstream_flows > 0
                then 'B'
            when not has_manifest then '–'
            else 'A'
        end as grade,
        list_filter(
            [
                if(dropped > 0, dropped || ' packets dropped', null),
                if(is_truncated, 'the last packet is cut', null),
                if(undecoded_packets > 0,
                    undecoded_packets || ' packets not decoded', null),
                if(super_packets > 0,
                    super_packets || ' packets merged by offloading', null),
                if(time_regressions > 0,
                    time_regressions
                    || if(time_regressions = 1, ' step', ' steps')
                    || ' back in time', null),
                if(midstream_flows > 0,
                    midstream_flows || ' flow directions began before the capture',
                    null),
                if(not has_manifest, 'no manifest: drops unknown', null),
            ],
            lambda reason: reason is not null
        ) as reasons,
    from shares
),

final as (
    select
        * exclude (reasons),
        array_to_string(reasons, '; ') as reasons,
        case grade when 'A' then 1 when 'C' then 3 when 'D' then 4 else 2 end
            as grade_rank,
    from graded
)

select * from final
