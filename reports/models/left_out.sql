-- One row per run that is in the folder of the runs but not in the plan of the experiment
-- file, or not as it was made: an edited file leaves such runs behind. No figure uses them.
with

contract as (
    select
        null::varchar as run,
        null::boolean as planned
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_runs
)

select run from filled
where planned = false
