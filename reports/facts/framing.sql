-- One row per run whose application counts its messages: bytes that ranks sent to ranks on other
-- hosts, and the new payload bytes of the flows that carried them. The excess in the flows is MPI's
-- own: start-up, headers, acknowledgements of its protocol. Runs that also sent without TCP are
-- left out: their retransmissions are unknown.
with

ranks as (
    select
        run,
        unnest(json_extract(json, '$.application.ranks')::json[]) as record,
    from stg_runs
    where json is not null
),

senders as (
    select
        run,
        record ->> 'rank' as rank,
        record ->> 'host' as host,
        record -> 'to' as counts,
    from ranks
),

pairs as (
    select
        *,
        unnest(json_keys(counts)) as peer,
    from senders
),

application as (
    select
        pairs.run,
        sum(
            json_extract(pairs.counts, '$."' || pairs.peer || '".bytes')::bigint
        )::bigint as application_bytes,
    from pairs
    inner join senders as receivers
        on pairs.run = receivers.run and pairs.peer = receivers.rank
    where pairs.host <> receivers.host
    group by pairs.run
),

carried as (
    select
        run,
        sum(new_payload_bytes(flows))::bigint as payload_bytes,
    from flows
    where
        is_counted
        and sender is not null
        and receiver is not null
    group by run
    having count_if(protocol <> 'tcp' and payload_bytes > 0) = 0
),

final as (
    select
        run,
        application_bytes,
        payload_bytes,
        payload_bytes / application_bytes - 1 as framing_share,
    from application
    inner join carried using (run)
    where application_bytes > 0
)

select * from final
