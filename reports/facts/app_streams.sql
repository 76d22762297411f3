-- One row per run and transfer whose speed the application measured (bulk), with the TCP flow that
-- shared its path, if there was one.
with

listed as (
    select
        run,
        json ->> '$.application.problem.transport' as transport,
        unnest(json_extract(json, '$.application.answer.streams[*]')) as record,
    from stg_runs
    where json is not null
),

final as (
    select
        run,
        -- the default of `bulk`
        coalesce(transport, 'lambda') as transport,
        (record ->> 'mbit_s')::double as mbit_s,
        (record ->> 'beside_mbit_s')::double as beside_mbit_s,
    from listed
)

select * from final
where mbit_s is not null
