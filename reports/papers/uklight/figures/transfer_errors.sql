-- One row per cell of the UKLight tables that was measured: how far off it is. Only for a link of
-- 300 Mbit/s, as in the paper.
with

-- 4 MB without loss: the row by which our base RTT and window were chosen
compared as (
    select
        times.*,
        published.published_s,
        message_mb = 4 and loss_percent = 0 and published.jitter_ms = 0
            as is_chosen_on,
        -- As the paper states: a window of 524288 bytes at 5 ms, over 300 Mbit/s. The same
        -- formula is window_s of flowsweep.analysis.uklight.
        case
            when loss_percent = 0 and published.jitter_ms = 0
                then greatest(
                    message_mb * 1048576 / 524288 * (5 + latency_ms) / 1e3,
                    message_mb * 1048576 * 8 / 300e6
                )
        end as stated_s,
        point_texts.undisturbed,
    from message_times as times
    inner join point_texts using (point)
    inner join published_messages as published
        using (message_mb, loss_percent, latency_ms)
    where
        coalesce(times.jitter_ms, 0) = published.jitter_ms
        and rate_asked_mbit_s = 300
),

plain as (
    select
        message_times.app,
        message_times.problem,
        message_times.message_mb,
        message_times.latency_ms,
        point_texts.undisturbed,
        message_times.transfer_s as plain_s,
    from message_times
    inner join point_texts using (point)
    where
        loss_percent = 0
        and jitter_fraction = 0
        and rate_asked_mbit_s = 300
),

final as (
    select
        compared.message_mb,
        compared.loss_percent,
        compared.jitter_fraction,
        compared.latency_ms,
        compared.published_s,
        compared.transfer_s,
        compared.runs,
        compared.is_chosen_on,
        round(compared.transfer_s / compared.published_s - 1, 4) as error,
        round(
            (compared.transfer_s + plain.plain_s) / 2 / compared.published_s - 1,
            4
        ) as one_way_error,
        round(compared.stated_s, 6) as stated_s,
        round(compared.stated_s / compared.published_s - 1, 4) as stated_error,
        ---------- the point
        points.* exclude (label) replace (
            round(points.rtt_ms, 4) as rtt_ms,
            round(points.rate_mbit_s, 4) as rate_mbit_s,
            coalesce(points.jitter_ms, 0) as jitter_ms
        ),
    from compared
    inner join points on compared.point = points.point
    left join plain
        on
            compared.app = plain.app
            and compared.problem = plain.problem
            and compared.message_mb = plain.message_mb
            and compared.latency_ms = plain.latency_ms
            and compared.undisturbed = plain.undisturbed
)

select * from final
order by
    message_mb, buffer_bytes, links, congestion, jitter_ms, loss_percent,
    latency_ms, app, problem, point
