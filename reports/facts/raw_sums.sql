-- One row per run, host and quantity: sums straight from the host's tables. The rows of the queries
-- must add up to them. `sent_wire_bytes` is null where a flow lacks wire bytes; `wan_wire_bytes` is
-- what the host sent to another place.
with

sent as (
    select
        stg_flows.run,
        stg_flows.host,
        sum(stg_flows.wire_bytes) as wire_bytes,
        count(*) = count(stg_flows.wire_bytes) as has_wire_bytes,
    from stg_flows
    inner join host_addresses
        on
            stg_flows.run = host_addresses.run
            and stg_flows.host = host_addresses.host
            and stg_flows.src_ip = host_addresses.address
    group by stg_flows.run, stg_flows.host
),

sums as (
    select
        run,
        host,
        'captures' as quantity,
        count(*) as total,
    from stg_captures
    group by run, host
    union all
    select
        run,
        host,
        'capture_packets' as quantity,
        coalesce(sum(packets), 0) as total,
    from stg_captures
    group by run, host
    union all
    select
        run,
        host,
        'flow_packets' as quantity,
        sum(packets) as total,
    from stg_flows
    group by run, host
    union all
    select
        run,
        host,
        'zeek_flow_packets' as quantity,
        sum(packets) as total,
    from stg_zeek_flows
    group by run, host
    union all
    select
        run,
        host,
        'intervals' as quantity,
        sum(count) as total,
    from stg_intervals
    group by run, host
    union all
    select
        run,
        host,
        'zeek_intervals' as quantity,
        sum(count) as total,
    from stg_zeek_intervals
    group by run, host
    union all
    select
        run,
        host,
        'sent_wire_bytes' as quantity,
        if(has_wire_bytes, wire_bytes, null) as total,
    from sent
    union all
    select
        bins.run,
        bins.host,
        'wan_wire_bytes' as quantity,
        sum(bins.wire_bytes) as total,
    from stg_throughput as bins
    inner join host_addresses as senders
        on
            bins.run = senders.run
            and bins.host = senders.host
            and bins.src_ip = senders.address
    left join host_addresses as receivers
        on bins.run = receivers.run and bins.dst_ip = receivers.address
    where
        senders.has_wan
        and senders.place is distinct from receivers.place
        and (receivers.place is not null or not senders.has_sites)
    group by bins.run, bins.host
)

select
    run,
    host,
    quantity,
    total::bigint as total,
from sums
