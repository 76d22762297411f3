-- One row per run and span of a phase, by the application's record.
with

listed as (
    select
        run,
        unnest(json_extract(json, '$.application.phases[*]')) as record,
    from stg_runs
    where json is not null
),

final as (
    select
        run,
        (record ->> 'rank')::bigint as "rank",
        record ->> 'name' as phase,
        (record ->> 'start_s')::double as start_s,
        (record ->> 'end_s')::double as end_s,
    from listed
)

select * from final
where end_s >= start_s
