-- One row per host whose Zeek ran flowsweep's script, which records the times of each direction.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_zeek_flowsweep_directions
)

select distinct
    run,
    host,
from filled
