-- One row per run, host, direction and bin: what it sent and received, at its own
-- capture point.
with

own as (
    select
        bins.run,
        bins.host,
        case
            when bins.src_ip = hosts.address then 'out'
            when bins.dst_ip = hosts.address then 'in'
        end as direction,
        epoch_ns(bins.bin_start) as bin_start_ns,
        bins.bin_ns,
        bins.packets,
        bins.wire_bytes,
    from stg_throughput as bins
    inner join hosts using (run, host)
),

summed as (
    select
        run,
        host,
        direction,
        bin_ns,
        bin_start_ns,
        sum(packets)::bigint as packets,
        sum(wire_bytes)::bigint as wire_bytes,
        sum(wire_bytes) * 8e3 / bin_ns as mbit_s,
    from own
    where direction is not null
    group by run, host, direction, bin_ns, bin_start_ns
)

select * from summed
