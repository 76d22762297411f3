-- One row per piece of the critical path of a run, from the folder of the host where the time
-- passed; columns that the files lack are null.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,            -- the host that computed or sent
        null::varchar as receiver,        -- null for computing
        null::bigint as step,
        null::varchar as part,
        null::bigint as duration_ns
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_critical_path
)

select * from filled
where run not in (select run from left_out)
