-- One row per run and direction between two sites: packets sent, packets that arrived,
-- and frames that the emulator says it dropped.
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

emulators as (
    select
        run,
        unnest(
            json_extract(json, '$.emulator.links')::json[]
        ) as link,
    from stg_runs
    where json is not null
),

dropped as (
    select
        run,
        link ->> 'from' as from_site,
        link ->> 'to' as to_site,
        coalesce((link ->> 'dropped_queue')::bigint, 0)
        + coalesce((link ->> 'dropped_send')::bigint, 0) as dropped_frames,
        (link ->> 'received')::bigint as received_frames,
        (link ->> 'delivered')::bigint as delivered_frames,
        coalesce((link ->> 'in_flight')::bigint, 0) as in_flight_frames,
    from emulators
),

final as (
    select
        coalesce(sent.run, dropped.run) as run,
        coalesce(sent.from_site, dropped.from_site) as from_site,
        coalesce(sent.to_site, dropped.to_site) as to_site,
        sent_packets,
        arrived_packets,
        dropped_frames,
        received_frames - delivered_frames - dropped_frames - in_flight_frames
            as unexplained_frames,
        sent_packets - arrived_packets - dropped_frames as unexplained_packets,
    from sent
    full outer join dropped using (run, from_site, to_site)
)

select * from final
