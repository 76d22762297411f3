-- One row per run with two sites or more: the wire bytes of its flows, and those of flows to or
-- from an address of no known site, which may or may not cross between sites.
with

sited as (
    select distinct run
    from places
    where has_sites
)

select
    flows.run,
    sum(flows.wire_bytes)::bigint as wire_bytes,
    coalesce(
        sum(flows.wire_bytes) filter (
            flows.sender_site is null or flows.receiver_site is null
        ),
        0
    )::bigint as unplaced_bytes,
from flows
inner join sited using (run)
where flows.is_counted
group by flows.run
