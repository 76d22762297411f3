-- One row per application, problem, point and direction between two hosts: what became of the
-- packets that one sent to the other; sums over runs.
with

final as (
    select
        points.* exclude (label),
        fates.sender,
        fates.receiver,
        senders.site <> receivers.site as is_between_sites,
        count(*) as runs_used,
        if(count(*) = 1, any_value(fates.run), null) as run,
        sum(fates.packets)::bigint as packets,
        sum(fates.delivered)::bigint as delivered,
        sum(fates.lost)::bigint as lost,
        sum(fates.lost) / nullif(sum(fates.delivered + fates.lost), 0)
            as lost_share,
        sum(fates.lost_bytes) / nullif(sum(fates.known_bytes), 0)
            as lost_bytes_share,
        sum(fates.loss_bursts)::bigint as loss_bursts,
        max(fates.longest_loss_burst) as longest_loss_burst,
        sum(fates.not_captured)::bigint as not_captured,
        sum(fates.duplicated)::bigint as duplicated,
        sum(fates.unknown)::bigint as unknown,
        sum(fates.reordered)::bigint as reordered,
        sum(fates.sent_again)::bigint as sent_again,
    from path_fates as fates
    inner join point_runs using (run)
    inner join points on point_runs.point = points.point
    left join hosts as senders
        on fates.run = senders.run and fates.sender = senders.host
    left join hosts as receivers
        on fates.run = receivers.run and fates.receiver = receivers.host
    group by all
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by
    app, problem, is_baseline desc, point, is_between_sites desc, sender, receiver
