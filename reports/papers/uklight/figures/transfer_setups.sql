-- One row per set-up of TCP and emulator with which cells of the UKLight tables with loss or jitter
-- were measured, and size of the message: how far off they are. Only for a link of 300 Mbit/s.
with

cells as (
    select
        points.app,
        points.congestion,
        points.schedule,
        points.buffer_bytes,
        message_times.message_mb,
        if(published_messages.jitter_ms > 0, 'jitter', 'loss') as disturbed_by,
        message_times.transfer_s / published_messages.published_s - 1 as error,
    from message_times
    inner join published_messages
        using (message_mb, loss_percent, latency_ms)
    inner join points on message_times.point = points.point
    where
        message_times.rate_asked_mbit_s = 300
        and coalesce(message_times.jitter_ms, 0) = published_messages.jitter_ms
        and (
            message_times.loss_percent > 0
            or message_times.jitter_ms > 0
        )
),

final as (
    select
        app,
        congestion,
        schedule,
        buffer_bytes,
        message_mb,
        disturbed_by,
        count(*) as cells,
        round(avg(error), 4) as mean_error,
        round(avg(abs(error)), 4) as mean_distance,
        round(min(error), 4) as lowest_error,
        round(max(error), 4) as highest_error,
        rank() over (
            partition by message_mb, disturbed_by
            order by round(avg(abs(error)), 4)
        ) as place,
    from cells
    group by
        app, congestion, schedule, buffer_bytes, message_mb, disturbed_by
)

select * from final
order by
    message_mb, disturbed_by desc, place, app, congestion, schedule, buffer_bytes
