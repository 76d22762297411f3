-- One row per size of a message and point: seconds for one message, one way, as the
-- application (pingpong) measured it; the median over the repetitions.
with

-- Added latency is the RTT above the shortest configured one.
bases as (
    select min(rtt_asked_ms) as rtt_ms
    from points
    inner join point_runs using (point)
    where run in (select run from app_sizes)
),

measured as (
    select
        points.* exclude (label),
        -- a megabyte of the paper has 2^20 bytes
        round(app_sizes.message_bytes / 1048576, 6) as message_mb,
        round(coalesce(points.loss, 0) * 100, 6) as loss_percent,
        round(coalesce(points.rtt_asked_ms - bases.rtt_ms, 0), 6)
            as latency_ms,
        case
            when coalesce(points.jitter_ms, 0) = 0 then 0
            when latency_ms > 0 then round(points.jitter_ms / latency_ms, 6)
        end as jitter_fraction,
        app_sizes.mean_s as transfer_s,
    from app_sizes
    inner join point_runs using (run)
    inner join points using (point)
    cross join bases
),

final as (
    select
        message_mb,
        loss_percent,
        jitter_fraction,
        latency_ms,
        round(median(transfer_s), 6) as transfer_s,
        round(min(transfer_s), 6) as transfer_s_min,
        round(max(transfer_s), 6) as transfer_s_max,
        count(*) as runs,
        ---------- the point
        measured.* exclude (
            message_mb, loss_percent, jitter_fraction, latency_ms, transfer_s
        ),
    from measured
    group by all
)

select * from final
