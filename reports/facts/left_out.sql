-- One row per run that is there and in no figure: not in the plan of the experiment file, or not
-- as it was made, since an edited file leaves such runs behind; or only its tables are still there,
-- as when its captures were taken out of the experiment.
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
