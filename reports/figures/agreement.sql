-- One row per connection that our parser, Zeek or both saw at a host: what each counted, and the
-- class of the first difference.
select
    run,
    host,
    protocol,
    connection,
    uids,
    low as one_end,
    high as other_end,
    ours as our_connections,
    zeeks as zeek_connections,
    class,
    packets,
    zeek_packets,
    ip_bytes,
    zeek_ip_bytes,
    payload_bytes,
    zeek_payload_bytes,
    duration_ns / 1e9 as duration_s,
    zeek_duration_ns / 1e9 as zeek_duration_s,
    start,
    zeek_start,
    "end",
    zeek_end,
    conn_state,
    history,
    missed_bytes,
    agreements.community_id as zeek_community_id,
    community_ids.community_id,
from agreements
left join community_ids using (protocol, low, high)
order by all
