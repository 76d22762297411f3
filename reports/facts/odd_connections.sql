-- One row per host captured: how many of its TCP connections look like another one that was
-- recorded again, and how many have packets of one direction alone. `flowsweep show` counts the
-- same of one file: flowsweep.analysis.odd_connections.
with

connections as (
    select
        run,
        host,
        connection,
        any_value(src_ip) filter (direction = 'forward') as src_ip,
        any_value(src_port) filter (direction = 'forward') as src_port,
        any_value(dst_ip) filter (direction = 'forward') as dst_ip,
        any_value(dst_port) filter (direction = 'forward') as dst_port,
        any_value(vlan) filter (direction = 'forward') as vlan,
        any_value(tunnel) filter (direction = 'forward') as tunnel,
        any_value(tunnel_id) filter (direction = 'forward') as tunnel_id,
        min(first_ns) as first_ns,
        max(last_ns) as last_ns,
        max(last_ns) - min(first_ns) as lasted_ns,
        list((direction, packets, ip_bytes, payload_bytes) order by direction)
            as sizes,
        sum(packets) as packets,
        sum(payload_bytes) as payload_bytes,
        count(*) filter (packets > 0) = 1
        -- attempts that nobody answered are whole
        and bool_or(packets > syn_packets + rst_packets) as is_one_way,
    from stg_flows
    where protocol = 'tcp'
    group by run, host, connection
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
    from connections
    -- connections of fewer packets may be alike by chance
    where packets >= 10 and payload_bytes > 0
    window
        same_source as (
            partition by run, host, src_ip, src_port, sizes
            order by first_ns, connection
        ),
        same_target as (
            partition by run, host, dst_ip, dst_port, sizes
            order by first_ns, connection
        )
),

shared as (
    select
        *,
        max(last_ns) over (
            ports rows between unbounded preceding and 1 preceding
        ) as ended_ns,
        lag(first_ns) over ports as before_first_ns,
        lag(lasted_ns) over ports as before_lasted_ns,
        lag(sizes) over ports as before_sizes,
    from connections
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
        count(*) filter (first_ns < ended_ns) as simultaneous_connections,
        -- a recording keeps the times; a refused connection looks like any other attempt
        count(*) filter (
            payload_bytes > 0
            and sizes = before_sizes
            and first_ns - before_first_ns <= 1000000000
            and abs(lasted_ns - before_lasted_ns) <= 1000000
        ) as alike_connections,
    from shared
    left join translated using (run, host, connection)
    group by run, host
)

select * from final
