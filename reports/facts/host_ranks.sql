-- One row per run and host: how many ranks ran there, from the application's record or run.json,
-- else from the axes; else one per host, which is a guess.
with

listed as (
    select
        run,
        unnest(
            if(
                run in (select run from app_ranks),
                json_extract_string(json, '$.application.ranks[*].host'),
                json_extract_string(json, '$.ranks[*]')
            )
        ) as host,
    from stg_runs
    where json is not null
),

counted as (
    select
        run,
        host,
        count(*) as ranks,
    from listed
    group by run, host
),

final as (
    select
        places.run,
        places.host,
        places.place as site,
        case
            when places.run in (select run from counted)
                then coalesce(counted.ranks, 0)
            else
                coalesce(
                    runs.ranks_per_host,
                    runs.ranks / count(*) over (partition by places.run),
                    1
                )
        end::double as ranks,
        places.run not in (select run from counted)
        and runs.ranks_per_host is null
        and runs.ranks is null as is_guessed,
    from places
    inner join runs using (run)
    left join counted using (run, host)
)

select * from final
