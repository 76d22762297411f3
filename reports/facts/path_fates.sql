-- One row per run and direction between two hosts: packets by fate, and bursts of consecutive lost
-- packets.
with

numbered as (
    select
        run,
        sender,
        receiver,
        fate,
        is_retransmission,
        reordered_by,
        payload_bytes,
        lost_bytes,
        -- consecutive packets with the same fate have the same difference
        row_number() over path
        - row_number() over path_and_fate as streak,
    from stg_fates
    where
        sender is not null
        and receiver is not null
        -- seen at a third point, or at none but its own
        and fate <> 'outside'
    window
        path as (
            partition by run, sender, receiver order by time_sent, packet_sent
        ),
        path_and_fate as (
            partition by run, sender, receiver, fate
            order by time_sent, packet_sent
        )
),

bursts as (
    select
        run,
        sender,
        receiver,
        count(*) as packets,
    from numbered
    where fate = 'lost'
    group by run, sender, receiver, streak
),

burst_sizes as (
    select
        run,
        sender,
        receiver,
        count(*) as loss_bursts,
        max(packets) as longest_loss_burst,
    from bursts
    group by run, sender, receiver
),

counted as (
    select
        run,
        sender,
        receiver,
        count(*) as packets,
        count(*) filter (fate = 'delivered') as delivered,
        count(*) filter (fate = 'lost') as lost,
        count(*) filter (fate = 'not_captured') as not_captured,
        count(*) filter (fate = 'duplicated') as duplicated,
        count(*) filter (fate = 'unknown') as unknown,
        count(*) filter (reordered_by > 0) as reordered,
        count(*) filter (is_retransmission) as sent_again,
        coalesce(sum(lost_bytes), 0)::bigint as lost_bytes,
        coalesce(
            sum(payload_bytes) filter (fate in ('delivered', 'lost')), 0
        )::bigint as known_bytes,
    from numbered
    group by run, sender, receiver
),

final as (
    select
        counted.*,
        coalesce(burst_sizes.loss_bursts, 0) as loss_bursts,
        burst_sizes.longest_loss_burst,
    from counted
    left join burst_sizes using (run, sender, receiver)
)

select * from final
