-- As stg_throughput, but counted by flowsweep's script for Zeek beside a capture.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,
        null::timestamptz_ns as bin_start,  -- a multiple of bin_ns since the epoch
        null::bigint as bin_ns,
        null::varchar as src_ip,
        null::varchar as dst_ip,
        null::bigint as packets,
        null::bigint as wire_bytes,
        null::bigint as payload_bytes
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_zeek_throughput
)

select * from filled
where run not in (select run from left_out)
