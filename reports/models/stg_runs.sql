-- One row per run that is not left out, by its run.json; columns that the file lacks are null.
with

contract as (
    select
        ---------- names
        null::varchar as run,
        null::varchar as experiment,
        null::varchar as app,
        null::varchar as problem,        -- JSON
        null::varchar as compute,        -- 'busy' or 'paced'
        ---------- place in the sweep
        null::bigint as repetition,
        null::bigint as block,
        null::boolean as baseline,
        null::boolean as warmup,
        ---------- outcome
        null::timestamptz_ns as start,
        null::timestamptz_ns as "end",
        null::double as completion_s,    -- as the application reports it
        null::struct(
            "name" varchar, unit varchar, better varchar, "value" double
        )[] as outcomes,                 -- the other outcomes
        null::varchar as status,         -- 'valid', 'invalid', 'failed'
        null::varchar as reason,
        null::struct("name" varchar, site varchar, address varchar)[] as hosts,
        null::varchar as spec_hash,
        null::boolean as planned,        -- false: see left_out; null: there is no plan
        null::bigint as emulator_late_p99_ns,
        null::bigint as emulator_dropped,  -- frames, all links
        null::varchar as json              -- the whole run.json
    where false
),

filled as (
    select * from contract
    union all by name
    select * from axis_contract
    union all by name
    select * from file_runs
)

select * from filled
where run not in (select run from left_out)
