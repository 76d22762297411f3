-- One row per run: payload between the sites (all, where there is one site), each packet counted
-- once, and how much of it UDP carried.
select
    run,
    sum(payload_bytes) as payload_bytes,
    coalesce(sum(payload_bytes) filter (protocol = 'udp'), 0) as udp_bytes,
from flows
where is_counted and is_on_path and protocol in ('tcp', 'udp')
group by run
