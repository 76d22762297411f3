-- One row per captured host: how many of its TCP connections look like a second recording of
-- another one, or have packets in one direction only, and how many TCP and UDP connections have the
-- same packets as another one but a different address at one end. `flowsweep show` counts the same
-- for one file: flowsweep.analysis.odd_connections.
with

ways as (
    select
        *,
        direction = 'forward' as is_forward,
        packets > syn_packets + rst_packets as goes_on,
    from stg_flows
    where protocol in ('tcp', 'udp')
),

described as (
    select
        run,
        host,
        connection,
        any_value(protocol) = 'tcp' as is_tcp,
        any_value(src_ip) filter (is_forward) as src_ip,
        any_value(src_port) filter (is_forward) as src_port,
        any_value(dst_ip) filter (is_forward) as dst_ip,
        any_value(dst_port) filter (is_forward) as dst_port,
        any_value(vlan) filter (is_forward) as vlan,
        any_value(tunnel) filter (is_forward) as tunnel,
        any_value(tunnel_id) filter (is_forward) as tunnel_id,
        min(first_ns) as first_ns,
        max(last_ns) as last_ns,
        max(last_ns) - min(first_ns) as lasted_ns,
        {
            'packets': any_value(packets) filter (is_forward),
            'packets_back': any_value(packets) filter (not is_forward),
            'ip': any_value(ip_bytes) filter (is_forward),
            'ip_back': any_value(ip_bytes) filter (not is_forward),
            'payload': any_value(payload_bytes) filter (is_forward),
            'payload_back': any_value(payload_bytes) filter (not is_forward)
        } as sizes,
        sum(packets) as packets,
        sum(payload_bytes) as payload_bytes,
        -- An attempt that nobody answered is complete.
        is_tcp
        and count(*) filter (packets > 0) = 1
        and bool_or(goes_on) as is_one_way,
    from ways
    group by run, host, connection
),

-- Windows over all connections would be expensive, and few share a hash with another one.
connections as (
    select
        *,
        coalesce(sizes.packets_back, 0) > 0 as is_answered,
        hash(src_ip, src_port, dst_ip, dst_port, vlan, tunnel, tunnel_id)
            as ports,
        hash(is_tcp, src_ip, src_port, sizes) as source,
        hash(is_tcp, dst_ip, dst_port, sizes) as target,
    from described
),

alike as (
    select *
    from connections
    where
        source in (
            select source from connections
            group by source
            having count(*) > 1
        )
        or target in (
            select target from connections
            group by target
            having count(*) > 1
        )
),

-- the same packets at the same time, with another address at one end
translated as (
    select
        run,
        host,
        connection,
        lag((first_ns, last_ns, dst_ip)) over same_source as before_source,
        lag((first_ns, last_ns, src_ip)) over same_target as before_target,
        abs(first_ns - before_source[1]) <= 1000000
        and abs(last_ns - before_source[2]) <= 1000000
        and dst_ip <> before_source[3] as is_other_target,
        abs(first_ns - before_target[1]) <= 1000000
        and abs(last_ns - before_target[2]) <= 1000000
        and src_ip <> before_target[3] as is_other_source,
    from alike
    -- connections of fewer packets may be alike by chance
    where
        packets >= 10 and payload_bytes > 0
        -- Datagrams from one sender to several receivers are no translation.
        and (is_tcp or is_answered)
    window
        same_source as (
            partition by run, host, is_tcp, src_ip, src_port, sizes
            order by first_ns, connection
        ),
        same_target as (
            partition by run, host, is_tcp, dst_ip, dst_port, sizes
            order by first_ns, connection
        )
),

-- Connections with the same endpoints. A second recording keeps the times; `is_alike` needs
-- payload, as all refused attempts look the same.
shared as (
    select
        run,
        host,
        connection,
        first_ns < max(last_ns) over (
            ports rows between unbounded preceding and 1 preceding
        ) as is_simultaneous,
        payload_bytes > 0
        and sizes = lag(sizes) over ports
        and first_ns - lag(first_ns) over ports <= 1000000000
        and abs(lasted_ns - lag(lasted_ns) over ports) <= 1000000 as is_alike,
    from connections
    where
        is_tcp
        and ports in (
            select ports from connections
            where is_tcp
            group by ports
            having count(*) > 1
        )
    window
        ports as (
            partition by
                run, host, src_ip, src_port, dst_ip, dst_port, vlan, tunnel,
                tunnel_id
            order by first_ns, connection
        )
),

final as (
    select
        run,
        host,
        count(*) filter (is_one_way) as one_way_connections,
        count(*) filter (is_other_target or is_other_source)
            as translated_connections,
        count(*) filter (is_simultaneous) as simultaneous_connections,
        count(*) filter (is_alike) as alike_connections,
    from connections
    left join shared using (run, host, connection)
    left join translated using (run, host, connection)
    group by run, host
)

select * from final
