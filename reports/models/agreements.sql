-- One row per connection of a host whose capture and Zeek log are both there: what each counted,
-- and why they differ. Connections are the same if their ends are, and their times overlap.
with

-- Zeek's flows do not tell octets on the wire: where the engine is Zeek alone, nothing is compared.
our_captures as (
    select distinct
        run,
        host,
    from stg_flows
    where wire_bytes is not null
),

compared as (
    select distinct
        run,
        host,
    from stg_zeek_flows
    inner join our_captures using (run, host)
),

engines as (
    select
        'ours' as engine,
        *,
    from stg_flows
    union all by name
    select
        'zeek' as engine,
        *,
    from stg_zeek_flows
),

-- Ends as texts; Zeek knows ports of TCP and UDP alone.
sides as (
    select
        *,
        src_ip || ' ' || if(protocol in ('tcp', 'udp'), src_port, 0) as src,
        dst_ip || ' ' || if(protocol in ('tcp', 'udp'), dst_port, 0) as dst,
    from engines
    inner join compared using (run, host)
),

connections as (
    select
        engine,
        run,
        host,
        connection,
        protocol,
        least(any_value(src), any_value(dst)) as low,
        greatest(any_value(src), any_value(dst)) as high,
        any_value(if(direction = 'forward', src, dst)) as initiator,
        min(first_ns) as first_ns,
        max(last_ns) as last_ns,
        sum(packets)::bigint as packets,
        sum(ip_bytes)::bigint as ip_bytes,
        if(bool_or(payload_bytes is null), null, sum(payload_bytes))::bigint as payload_bytes,
        any_value(start) as start,
        max("end") as "end",
        any_value(uid) as uid,
        any_value(conn_state) as conn_state,
        any_value(history) as history,
        any_value(missed_bytes) as missed_bytes,
        any_value(community_id) as community_id,
    from sides
    group by engine, run, host, connection, protocol
),

-- Those with the same ends that overlap, or are a microsecond apart, belong together.
ordered as (
    select
        *,
        max(last_ns) over (
            partition by run, host, protocol, low, high
            order by first_ns, last_ns, engine, connection
            rows between unbounded preceding and 1 preceding
        ) as before_ns,
    from connections
),

grouped as (
    select
        *,
        sum(if(before_ns is null or first_ns > before_ns + 1000, 1, 0)) over (
            partition by run, host, protocol, low, high
            order by first_ns, last_ns, engine, connection
        ) as place,
    from ordered
),

pairs as (
    select
        run,
        host,
        protocol,
        low,
        high,
        place,
        count(*) filter (engine = 'ours') as ours,
        count(*) filter (engine = 'zeek') as zeeks,
        min(connection) filter (engine = 'ours') as connection,
        string_agg(uid, ' ' order by first_ns) filter (engine = 'zeek') as uids,
        any_value(initiator) filter (engine = 'ours') as our_initiator,
        any_value(initiator) filter (engine = 'zeek') as zeek_initiator,
        sum(packets) filter (engine = 'ours')::bigint as packets,
        sum(packets) filter (engine = 'zeek')::bigint as zeek_packets,
        sum(ip_bytes) filter (engine = 'ours')::bigint as ip_bytes,
        sum(ip_bytes) filter (engine = 'zeek')::bigint as zeek_ip_bytes,
        sum(payload_bytes) filter (engine = 'ours')::bigint as payload_bytes,
        if(
            bool_or(engine = 'zeek' and payload_bytes is null),
            null,
            sum(payload_bytes) filter (engine = 'zeek')
        )::bigint as zeek_payload_bytes,
        max(last_ns) filter (engine = 'ours')
        - min(first_ns) filter (engine = 'ours') as duration_ns,
        max(last_ns) filter (engine = 'zeek')
        - min(first_ns) filter (engine = 'zeek') as zeek_duration_ns,
        any_value(start) filter (engine = 'ours') as start,
        any_value(start) filter (engine = 'zeek') as zeek_start,
        max("end") filter (engine = 'ours') as "end",
        max("end") filter (engine = 'zeek') as zeek_end,
        any_value(conn_state) as conn_state,
        any_value(history) as history,
        coalesce(sum(missed_bytes), 0)::bigint as missed_bytes,
        any_value(community_id) as community_id,
    from grouped
    group by run, host, protocol, low, high, place
),

-- What the capture holds that explains it
odd as (
    select
        run,
        host,
        sum(fragments) as fragments,
        sum(tunnelled_packets) as tunnelled_packets,
    from stg_captures
    group by run, host
),

final as (
    select
        pairs.*,
        case
            when zeeks = 0 and fragments > 0 then 'ours alone, fragments'
            when zeeks = 0 then 'ours alone'
            when ours = 0 and tunnelled_packets > 0 then 'Zeek''s alone, tunnel'
            when ours = 0 and fragments > 0 then 'Zeek''s alone, fragments'
            when ours = 0 then 'Zeek''s alone'
            when ours <> zeeks then 'divided otherwise'
            when packets <> zeek_packets and fragments > 0 then 'fragments'
            when packets <> zeek_packets and contains(lower(history), 'c') then 'checksum'
            when packets <> zeek_packets then 'packets'
            when ip_bytes <> zeek_ip_bytes then 'octets'
            when our_initiator <> zeek_initiator then 'direction turned'
            when zeek_payload_bytes is null then 'payload not told'
            when payload_bytes <> zeek_payload_bytes and protocol like 'icmp%'
                then 'payload of ICMP'
            when payload_bytes <> zeek_payload_bytes and missed_bytes > 0 then 'missed bytes'
            when payload_bytes <> zeek_payload_bytes then 'payload'
            when start is distinct from zeek_start or "end" is distinct from zeek_end
                then 'history cut'
            when abs(duration_ns - zeek_duration_ns) >= 2000 then 'duration'
            when duration_ns <> zeek_duration_ns then 'microseconds'
            else 'the same'
        end as class,
    from pairs
    left join odd using (run, host)
)

select * from final
