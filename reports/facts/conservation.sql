-- One row per run and direction between two sites: packets sent, packets that arrived, and the
-- fates of the emulator's frames in between, from the counters in link_balances.
with

sent as (
    select
        run,
        sender_site as from_site,
        receiver_site as to_site,
        sum(packets) filter (is_at_sender)::bigint as sent_packets,
        sum(packets) filter (is_at_receiver)::bigint as arrived_packets,
    from flows
    where
        sender_site is not null
        and receiver_site is not null
        and is_between_sites
    group by all
),

joined as (
    select
        coalesce(sent.run, links.run) as run,
        coalesce(sent.from_site, links.from_site) as from_site,
        coalesce(sent.to_site, links.to_site) as to_site,
        sent.sent_packets,
        sent.arrived_packets,
        links.received as received_frames,
        links.duplicated as duplicated_frames,
        links.delivered as delivered_frames,
        links.dropped as dropped_frames,
        links.in_flight as in_flight_frames,
        links.dropped_before as dropped_before_frames,
        links.unexplained as unexplained_frames,
        sent_packets - arrived_packets as missing_packets,
        dropped_frames + in_flight_frames - duplicated_frames
            as explained_packets,
        -- Frames without a packet in the captures: ARP, or what a capture filter left out. Each of
        -- them may have been dropped or duplicated.
        greatest(received_frames - sent_packets, 0) as uncaptured_frames,
    from sent
    full outer join link_balances as links using (run, from_site, to_site)
),

final as (
    select
        *,
        -- Packets missing beyond the most, or below the least, that the counters explain. Without
        -- counters, or captures of both ends, nothing is known; greatest and least ignore nulls.
        if(
            missing_packets is null or explained_packets is null,
            null,
            greatest(
                missing_packets - explained_packets
                - least(uncaptured_frames, duplicated_frames)
                - dropped_before_frames,
                0
            ) + least(missing_packets - explained_packets + uncaptured_frames, 0)
        ) as unexplained_packets,
    from joined
)

select * from final
