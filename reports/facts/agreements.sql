-- One row per connection of a host that has both a capture and a Zeek log: what each counted, and
-- why they differ. Connections match if they have the same ends and their times overlap.
with

-- Zeek's flows have no wire bytes: where Zeek is the only engine, nothing is compared.
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

-- Ends as text; Zeek has ports for TCP and UDP only.
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
        sum(wire_bytes)::bigint as wire_bytes,
        if(bool_or(payload_bytes is null), null, sum(payload_bytes))::bigint as payload_bytes,
        sum(retransmitted_bytes)::bigint as retransmitted_bytes,
        any_value(start) as start,
        max("end") as "end",
        any_value(uid) as uid,
        any_value(conn_state) as conn_state,
        any_value(history) as history,
        any_value(missed_bytes) as missed_bytes,
        any_value(community_id) as community_id,
        any_value(tunnel_parents) as tunnel_parents,
    from sides
    group by engine, run, host, connection, protocol
),

-- Connections with the same ends that overlap, or are at most a microsecond apart, belong together.
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
        sum(wire_bytes)::bigint as wire_bytes,
        min(first_ns) as first_ns,
        sum(payload_bytes) filter (engine = 'ours')::bigint as payload_bytes,
        sum(retransmitted_bytes) filter (engine = 'ours')::bigint as retransmitted_bytes,
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
        any_value(tunnel_parents) as tunnel_parents,
    from grouped
    group by run, host, protocol, low, high, place
),

-- Connections that only one engine has. The other may have the same counts under other addresses at
-- the same time, or under the same addresses at another time.
alone as (
    select
        *,
        coalesce(packets, zeek_packets) as any_packets,
        coalesce(ip_bytes, zeek_ip_bytes) as any_ip_bytes,
    from pairs
    where ours = 0 or zeeks = 0
),

displaced as (
    select
        alone.run,
        alone.host,
        alone.protocol,
        alone.low,
        alone.high,
        alone.place,
        bool_or(alone.low = other.low and alone.high = other.high) as same_ends,
    from alone
    inner join alone as other using (run, host, protocol, any_packets, any_ip_bytes)
    where
        (alone.ours = 0) <> (other.ours = 0)
        and (
            (alone.low = other.low and alone.high = other.high)
            or abs(alone.first_ns - other.first_ns) <= 1000
        )
    group by all
),

-- Properties of the capture that explain a difference
odd as (
    select
        run,
        host,
        sum(fragments) as fragments,
        sum(tunnelled_packets) as tunnelled_packets,
        sum(super_packets) as super_packets,
        sum(snapped_packets) as snapped_packets,
    from stg_captures
    group by run, host
),

-- Ethernet with two VLAN tags has 22 bytes before IP, and small frames are padded to 64.
explained as (
    select
        pairs.*,
        displaced.same_ends,
        fragments,
        tunnelled_packets,
        super_packets,
        snapped_packets,
        wire_bytes - pairs.ip_bytes > 22 * packets
        and wire_bytes > 64 * packets as is_encapsulated,
        wire_bytes < pairs.ip_bytes as is_beyond_frame,
    from pairs
    left join displaced using (run, host, protocol, low, high, place)
    left join odd using (run, host)
),

final as (
    select
        * exclude (
            same_ends, fragments, tunnelled_packets, super_packets, snapped_packets,
            is_encapsulated, is_beyond_frame
        ),
        case
            when same_ends then 'other time'
            when not same_ends then 'other addresses'
            when zeeks = 0 and fragments > 0 then 'ours alone, fragments'
            when zeeks = 0 and protocol in ('esp', 'ah', 'gre') then 'ours alone, no transport'
            when zeeks = 0 and (is_encapsulated or tunnelled_packets > 0)
                then 'ours alone, tunnel'
            when zeeks = 0 then 'ours alone'
            when ours = 0 and (tunnel_parents is not null or tunnelled_packets > 0)
                then 'Zeek''s alone, tunnel'
            when ours = 0 and fragments > 0 then 'Zeek''s alone, fragments'
            when ours = 0 then 'Zeek''s alone'
            when ours <> zeeks then 'divided otherwise'
            when packets <> zeek_packets and fragments > 0 then 'fragments'
            when packets <> zeek_packets and contains(lower(history), 'c') then 'checksum'
            when packets <> zeek_packets and is_beyond_frame then 'packets, beyond the frame'
            when packets <> zeek_packets and tunnelled_packets > 0 then 'packets, tunnel'
            when packets <> zeek_packets and snapped_packets > 0 then 'packets, cut'
            when packets <> zeek_packets then 'packets'
            when ip_bytes <> zeek_ip_bytes and super_packets > 0 then 'bytes, no length'
            when ip_bytes <> zeek_ip_bytes then 'bytes'
            when our_initiator <> zeek_initiator then 'direction turned'
            when zeek_payload_bytes is null then 'payload unknown'
            when payload_bytes <> zeek_payload_bytes and protocol like 'icmp%'
                then 'payload of ICMP'
            when
                payload_bytes <> zeek_payload_bytes
                and payload_bytes - retransmitted_bytes = zeek_payload_bytes
                then 'payload sent again'
            when payload_bytes <> zeek_payload_bytes and missed_bytes > 0 then 'missed bytes'
            when payload_bytes <> zeek_payload_bytes then 'payload'
            when start is distinct from zeek_start or "end" is distinct from zeek_end
                then 'history cut'
            when abs(duration_ns - zeek_duration_ns) >= 2000 then 'duration'
            when duration_ns <> zeek_duration_ns then 'microseconds'
            else 'the same'
        end as class,
    from explained
)

select * from final
