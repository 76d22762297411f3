-- One row per host, connection and direction of Zeek's conn.log; columns that the files lack are
-- null. If the host also has a capture, they are compared with its flows; else they are the flows.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,
        null::bigint as connection,       -- number within Zeek's log
        null::varchar as direction,
        null::varchar as protocol,
        null::varchar as src_ip,
        null::integer as src_port,
        null::varchar as dst_ip,
        null::integer as dst_port,
        null::timestamptz_ns as first_time,
        null::timestamptz_ns as last_time,
        null::bigint as packets,
        null::bigint as ip_bytes,
        null::bigint as payload_bytes,    -- null where Zeek saw no more than one packet
        null::varchar as start,
        null::varchar as "end",
        null::varchar as uid,
        null::varchar as conn_state,
        null::varchar as history,         -- its letters: zeek.org, conn.log
        null::bigint as missed_bytes,     -- bytes in gaps of the sequence numbers
        null::varchar as community_id,    -- null where the log has none
        null::varchar as tunnel_parents   -- uids of the tunnels around it; null: none
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_zeek_flows
)

select
    * exclude (first_time, last_time),
    epoch_ns(first_time) as first_ns,
    epoch_ns(last_time) as last_ns,
from filled
where run not in (select run from left_out)
