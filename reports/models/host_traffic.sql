-- One row per run, host, direction and bin: what it sent and received, at its own capture point.
-- What a host sends to itself is in both directions.
with

own as (
    select
        run,
        host,
        way as direction,
        bin_start,
        bin_ns,
        packets,
        wire_bytes,
    from paced_throughput
    where way <> 'through'
    union all
    select
        run,
        host,
        'in' as direction,
        bin_start,
        bin_ns,
        packets,
        wire_bytes,
    from paced_throughput
    where way = 'out' and src_ip = dst_ip
),

summed as (
    select
        run,
        host,
        direction,
        bin_ns,
        epoch_ns(bin_start) as bin_start_ns,
        sum(packets)::bigint as packets,
        sum(wire_bytes)::bigint as wire_bytes,
        sum(wire_bytes) * 8e3 / bin_ns as mbit_s,
    from own
    group by run, host, direction, bin_ns, bin_start_ns
)

select * from summed
