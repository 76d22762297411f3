-- One row per packet that two hosts captured, from the sender's folder of the matched tables;
-- columns that the files lack are null.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,            -- the sender
        null::varchar as receiver,
        null::varchar as protocol,
        null::bigint as packet_sent,
        null::bigint as delay_ns,         -- by corrected clocks
        null::bigint as delay_error_ns,
        null::bigint as queue_ns          -- above the least delay of the direction
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_one_way
)

select * from filled
where run not in (select run from left_out)
