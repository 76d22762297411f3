-- One row per run, connection and direction on the path, from the capture of the receiver; if that
-- was not captured, from the one that `flows` counts. Stream 'data' is the direction of a
-- connection with more payload, 'replies' the other.
with

seen as (
    select
        run,
        host,
        connection,
        direction,
        packets,
        wire_bytes,
        payload_bytes,
        is_at_receiver,
        is_counted,
        bool_or(is_at_receiver) over (
            partition by run, protocol, src_ip, src_port, dst_ip, dst_port
        ) as has_receiver,
        max(payload_bytes) over (
            partition by run, host, connection
        ) as largest,
    from flows
    where is_on_path and protocol in ('tcp', 'udp')
),

final as (
    select
        seen.run,
        seen.host,
        seen.connection,
        seen.direction,
        seen.packets,
        seen.wire_bytes,
        if(seen.payload_bytes = seen.largest, 'data', 'replies') as stream,
        -- Captures whose grade forbids claims about gaps are not counted.
        coalesce(host_grades.has_gaps, true) as is_counted,
    from seen
    left join host_grades using (run, host)
    where
        seen.is_at_receiver
        or (seen.is_counted and not seen.has_receiver)
)

select * from final
