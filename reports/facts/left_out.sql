-- One row per run that exists and is in no figure. Either the plan of the experiment file does not
-- have it, or has it with other settings, because the file was edited; or only its tables are left,
-- as after its captures were removed from the experiment.
with

contract as (
    select
        null::varchar as run,
        null::boolean as planned
    where false
),

recorded as (
    select * from contract
    union all by name
    select * from file_runs
),

final as (
    select
        run,
        true as is_recorded,
    from recorded
    where planned = false
    union all by name
    select distinct
        run,
        false as is_recorded,
    from file_captures
    where run not in (select run from recorded)
)

select * from final
