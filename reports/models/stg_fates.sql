-- One row per packet that some host captured, from the sender's folder of the matched tables;
-- columns that the files lack are null.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,            -- the sender, else the receiver
        null::varchar as sender,
        null::varchar as receiver,
        null::varchar as protocol,
        null::timestamptz_ns as time_sent,
        null::timestamptz_ns as time_received,
        null::bigint as packet_sent,
        null::varchar as fate,
        null::boolean as is_retransmission,
        null::bigint as ip_bytes,
        null::bigint as payload_bytes,
        null::bigint as lost_bytes,
        null::bigint as reordered_by
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_fates
)

select * from filled
where run not in (select run from left_out)
