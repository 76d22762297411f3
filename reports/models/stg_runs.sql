-- One row per run that is not left out, as run.json tells it; columns that the file lacks are null.
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
        null::bigint as rtt_asked_ns,
        null::bigint as rtt_measured_ns,
        null::double as rate_asked_bit_s,
        null::double as rate_measured_bit_s,
        null::bigint as queue_bytes,
        null::bigint as buffer_bytes,
        null::double as loss,
        null::double as loss_measured,
        null::bigint as jitter_ns,
        null::double as jitter_share,    -- of the one-way delay
        null::bigint as links,
        null::varchar as congestion,
        null::bigint as hosts_per_site,
        null::bigint as ranks,
        null::bigint as ranks_per_host,
        ---------- outcome
        null::timestamptz_ns as start,
        null::timestamptz_ns as "end",
        null::double as completion_s,    -- as the application says
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
    select * from file_runs
)

select * from filled
where run not in (select run from left_out)
