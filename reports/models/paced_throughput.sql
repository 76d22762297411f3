-- As stg_throughput, but with the bytes of packets that offloading merged spread over the time
-- since the previous merged packet of the same pair of addresses, at most over the shortest bin
-- whose rate is known; those of the first packet over all of that bin. What a host sends to itself
-- is not spread. `way`: see `way_past`, for the host that captured it.
with

-- Most captures have no such packet: all rows are then read once, and none is stored.
placed as not materialized (
    select
        bins.*,
        way_past(hosts.addresses, bins.src_ip, bins.dst_ip) as way,
    from stg_throughput as bins
    left join hosts using (run, host)
),

-- A bin with less than half of the bytes of the largest packet is not spread.
merged as (
    select
        placed.*,
        2 * wire_bytes >= shortest.largest_bytes
        and not is_local(src_ip, dst_ip) as is_large,
        (shortest.shortest_ns + bin_ns - 1) // bin_ns as most_bins,
        (
            epoch_ns(bin_start)
            - lag(epoch_ns(bin_start)) over (
                partition by run, host, src_ip, dst_ip, is_large
                order by bin_start
            )
        ) // bin_ns as since_bins,
    from placed
    inner join shortest_bins as shortest using (run, host, way)
),

spread as (
    select
        * exclude (is_large, most_bins, since_bins),
        if(
            is_large,
            greatest(least(most_bins, coalesce(since_bins, most_bins)), 1),
            1
        ) as spread_bins,
        unnest(generate_series(0, spread_bins - 1)) as back,
    from merged
)

select *
from placed
anti join shortest_bins using (run, host, way)
union all by name
select
    * exclude (spread_bins, back) replace (
        earlier(bin_start, back * bin_ns) as bin_start,
        if(back = 0, packets, 0) as packets,
        wire_bytes // spread_bins
        + if(back = 0, wire_bytes % spread_bins, 0) as wire_bytes,
        payload_bytes // spread_bins
        + if(back = 0, payload_bytes % spread_bins, 0) as payload_bytes
    ),
from spread
