-- One row per run and size of a message whose time the application measured (pingpong).
with

listed as (
    select
        run,
        unnest(json_extract(json, '$.application.answer.sizes[*]')) as record,
    from stg_runs
    where json is not null
),

final as (
    select
        run,
        (record ->> 'message_bytes')::bigint as message_bytes,
        -- one way: half of a round trip
        (record ->> 'mean_s')::double as mean_s,
    from listed
)

select * from final
where message_bytes is not null and mean_s is not null
