-- As stg_messages, but counted by flowsweep's script for Zeek beside a capture.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,            -- whose capture it is
        null::bigint as connection,       -- number within the capture
        null::varchar as direction,       -- 'forward' from the initiator
        null::timestamptz_ns as first_time,
        null::timestamptz_ns as last_time,
        null::bigint as bytes,
        null::bigint as packets,
        null::bigint as gap_before_ns,    -- since the message before it
        null::varchar as evidence,        -- why it ends there
        null::boolean as at_sender,       -- by RTTs; null where they do not show it
        null::boolean as merged_possible  -- null far from the sender
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_zeek_messages
)

select * from filled
where run not in (select run from left_out)
