-- As stg_intervals, but counted by flowsweep's script for Zeek beside a capture.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,
        null::bigint as connection,
        null::varchar as direction,
        null::bigint as bucket_low_ns,
        null::bigint as bucket_high_ns,   -- excluded; at most 1.6 % above the low end
        null::bigint as count
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_zeek_intervals
)

select * from filled
where run not in (select run from left_out)
