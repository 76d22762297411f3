-- One row per run, host and way in its own capture (out, in, or through, between other hosts) whose
-- packets were merged by offloading, lack times of their own, or have stamps coarser than the bins
-- of the tables: the shortest bin whose rate is known. A merged packet passes the capture point at
-- once, but takes time on the wire, at the rate of its way; over a shorter time the rate is
-- unknown. What a host sends to itself takes no time on a wire. A host that has more to send waits
-- at most a second: the rest of a silence is left out of the rate. Packets without a time of their
-- own (`is_borrowed`) have that of another packet: their bin is unknown, so the shortest bin is the
-- whole time. Coarse stamps allow the bins of coarse_stamps. `largest_bytes` is null where no
-- packet was merged.
with

kinds as (
    select
        run,
        host,
        sum(super_packets) > 0 as is_merging,
        coalesce(sum(untimed_packets), 0)
        + coalesce(sum(times_out_of_range), 0) > 0 as is_borrowed,
    from stg_captures
    group by run, host
),

merging as (
    select
        run,
        host,
    from kinds
    where is_merging and not is_borrowed
),

pairs as (
    select
        run,
        host,
        src_ip,
        dst_ip,
        max(largest_packet_bytes) as largest_bytes,
        coalesce(max(mss), 1460) as mss,
        sum(wire_bytes)::bigint as wire_bytes,
        min(first_ns) as first_ns,
        max(last_ns) as last_ns,
    from stg_flows
    inner join merging using (run, host)
    where
        src_ip is not null and dst_ip is not null
        and not is_local(src_ip, dst_ip)
    group by run, host, src_ip, dst_ip
),

-- older tables lack the largest packet: it is at least as long as the mean of a bin
bins as (
    select
        run,
        host,
        src_ip,
        dst_ip,
        max(wire_bytes // packets) as largest_bytes,
    from stg_throughput
    inner join merging using (run, host)
    where packets > 0
    group by run, host, src_ip, dst_ip
),

placed_bins as (
    select distinct
        bins.run,
        bins.host,
        bins.bin_ns,
        epoch_ns(bins.bin_start) as start_ns,
        way_past(hosts.addresses, bins.src_ip, bins.dst_ip) as way,
    from stg_throughput as bins
    inner join merging using (run, host)
    left join hosts using (run, host)
    where not is_local(bins.src_ip, bins.dst_ip)
),

silences as (
    select
        run,
        host,
        way,
        start_ns - bin_ns
        - lag(start_ns) over (
            partition by run, host, way order by start_ns
        ) as silence_ns,
    from placed_bins
),

silent as (
    select
        run,
        host,
        way,
        sum(greatest(silence_ns - 1_000_000_000, 0))::bigint as silent_ns,
    from silences
    group by run, host, way
),

-- the bins of all ways within the run's time, between one before it and one after it
framed as (
    select
        windows.run,
        windows.host,
        windows.bins,
        windows.bin_ns,
        placed_bins.start_ns,
    from windows
    inner join placed_bins using (run, host)
    where
        placed_bins.start_ns >= windows.first_bin * windows.bin_ns
        and placed_bins.start_ns
        < (windows.first_bin + windows.bins) * windows.bin_ns
    union
    select
        windows.run,
        windows.host,
        windows.bins,
        windows.bin_ns,
        unnest([windows.first_bin - 1, windows.first_bin + windows.bins])
        * windows.bin_ns as start_ns,
    from windows
    inner join merging using (run, host)
),

-- the run's time without the rest of its silences, of which a run.json may state days
spans as (
    select
        run,
        host,
        greatest(any_value(bins), 1) * any_value(bin_ns)
        - sum(greatest(silence_ns - 1_000_000_000, 0))::bigint as span_ns,
    from (
        select
            *,
            start_ns - bin_ns
            - coalesce(
                lag(start_ns) over (partition by run, host order by start_ns),
                start_ns - bin_ns
            ) as silence_ns,
        from framed
    )
    group by run, host
),

placed as (
    select
        pairs.*,
        coalesce(pairs.largest_bytes, bins.largest_bytes) as longest_bytes,
        -- longer than the MSS with all headers and options
        longest_bytes > greatest(pairs.mss, 1460) + 140 as is_merged,
        way_past(hosts.addresses, pairs.src_ip, pairs.dst_ip) as way,
    from pairs
    left join bins using (run, host, src_ip, dst_ip)
    left join hosts using (run, host)
),

summed as (
    select
        run,
        host,
        way,
        max(longest_bytes) filter (is_merged) as largest_bytes,
        sum(wire_bytes)::bigint as wire_bytes,
        max(last_ns) - min(first_ns)
        - coalesce(any_value(silent.silent_ns), 0) as duration_ns,
    from placed
    left join silent using (run, host, way)
    group by run, host, way
    having bool_or(is_merged)
),

coarse as (
    select
        kinds.run,
        kinds.host,
        unnest(['out', 'in', 'through']) as way,
        coarse_stamps.bin_ns as shortest_ns,
    from kinds
    inner join coarse_stamps using (run, host)
    where not kinds.is_borrowed
),

merged as (
    select
        summed.run,
        summed.host,
        summed.way,
        summed.largest_bytes,
        -- the rate at which a lone packet passed is unknown
        if(
            summed.duration_ns > 0,
            ceil(
                summed.largest_bytes
                * summed.duration_ns::double
                / summed.wire_bytes
            ),
            spans.span_ns
        )::bigint as shortest_ns,
    from summed
    inner join spans using (run, host)
)

select
    run,
    host,
    way,
    merged.largest_bytes,
    coalesce(
        -- the time of the merged packets, rounded up to a multiple of the coarse bin
        (merged.shortest_ns + coarse.shortest_ns - 1)
        // coarse.shortest_ns
        * coarse.shortest_ns,
        merged.shortest_ns,
        coarse.shortest_ns
    ) as shortest_ns,
    false as is_borrowed,
from merged
full join coarse using (run, host, way)
union all by name
select
    run,
    host,
    unnest(['out', 'in', 'through']) as way,
    null::bigint as largest_bytes,
    greatest(windows.bins, 1) * windows.bin_ns as shortest_ns,
    true as is_borrowed,
from kinds
inner join windows using (run, host)
where kinds.is_borrowed
