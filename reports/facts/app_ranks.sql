-- One row per run and rank, by the application's record.
with

listed as (
    select
        run,
        unnest(json_extract(json, '$.application.ranks[*]')) as record,
    from stg_runs
    where json is not null
),

final as (
    select
        listed.run,
        (record ->> 'rank')::bigint as "rank",
        record ->> 'host' as host,
        places.place as site,
        record -> 'mpi' as mpi,
    from listed
    left join places
        on listed.run = places.run and places.host = (listed.record ->> 'host')
)

select * from final
