-- One row per run and transfer: sender, receiver, bytes and times. They come from the application's
-- record, with the receiving rank; without a record a transfer is a connection with payload, in the
-- direction that carried more of it, from its first packet to its last.
with

spans as (
    select
        run,
        unnest(json_extract(json, '$.application.transfers[*]')) as record,
    from stg_runs
    where json is not null
),

reported as (
    select
        spans.run,
        'application' as source,
        coalesce(senders.host, 'rank ' || (record ->> 'from')) as from_host,
        coalesce(senders.site, 'elsewhere') as from_site,
        coalesce(receivers.host, 'rank ' || (record ->> 'to')) as to_host,
        coalesce(receivers.site, 'elsewhere') as to_site,
        (record ->> 'to')::bigint as to_rank,
        (record ->> 'bytes')::bigint as bytes,
        (record ->> 'start_s')::double as start_s,
        (record ->> 'end_s')::double as end_s,
    from spans
    left join app_ranks as senders
        on
            spans.run = senders.run
            and senders.rank = (spans.record ->> 'from')::bigint
    left join app_ranks as receivers
        on
            spans.run = receivers.run
            and receivers.rank = (spans.record ->> 'to')::bigint
),

-- One capture has both directions of a connection, so that they can be compared.
directions as (
    select
        *,
        row_number() over (
            partition by run, host, connection
            order by payload_bytes desc, direction desc
        ) as place,
    from flows
    where protocol in ('tcp', 'udp') and payload_bytes > 0
),

seen as (
    select
        directions.run,
        'connections' as source,
        coalesce(directions.sender, 'elsewhere') as from_host,
        coalesce(senders.place, 'elsewhere') as from_site,
        coalesce(directions.receiver, 'elsewhere') as to_host,
        coalesce(receivers.place, 'elsewhere') as to_site,
        null::bigint as to_rank,
        directions.payload_bytes as bytes,
        (directions.first_ns - windows.start_ns) / 1e9 as start_s,
        (directions.last_ns - windows.start_ns) / 1e9 as end_s,
    from directions
    inner join run_windows as windows using (run)
    left join places as senders
        on directions.run = senders.run and directions.sender = senders.host
    left join places as receivers
        on
            directions.run = receivers.run
            and directions.receiver = receivers.host
    where
        directions.is_counted
        and directions.place = 1
        and directions.run not in (select run from reported)
),

final as (
    select * from reported
    union all by name
    select * from seen
)

select
    *,
    end_s - start_s as duration_s,
from final
where bytes is not null and end_s >= start_s
