-- One row per run, pair of sites and stretch of the run's time for which the link between them does
-- not change: first as configured in run.json, then as each change by the emulator leaves it.
with

changed as (
    select
        run,
        unnest(json_extract(json, '$.emulator.changes[*]')) as link,
    from stg_runs
    where json is not null
),

stated as (
    select
        run,
        site_a,
        site_b,
        link,
    from stated_links
    union all
    select
        run,
        link ->> '$.between[0]' as site_a,
        link ->> '$.between[1]' as site_b,
        link,
    from changed
),

states as (
    select
        run,
        site_a,
        site_b,
        -- null: from the start
        try_cast(link ->> '$.time_ns' as bigint) as since_ns,
        try_cast(link ->> '$.rate_bit_s' as double) / 1e6 as rate_mbit_s,
        try_cast(link ->> '$.links' as bigint) as links,
    from stated
),

timed as (
    select
        states.run,
        states.site_a,
        states.site_b,
        states.rate_mbit_s,
        states.links,
        greatest(coalesce(states.since_ns, windows.start_ns), windows.start_ns)
            as begin_ns,
        least(
            coalesce(
                lead(states.since_ns) over (
                    partition by states.run, states.site_a, states.site_b
                    order by
                        states.since_ns asc nulls first,
                        states.rate_mbit_s asc,
                        states.links asc
                ),
                windows.end_ns
            ),
            windows.end_ns
        ) as end_ns,
        windows.start_ns,
    from states
    inner join run_windows as windows using (run)
    where
        states.site_a is not null
        and states.site_b is not null
        and states.links > 0
),

final as (
    select
        run,
        site_a,
        site_b,
        (begin_ns - start_ns) / 1e9 as start_s,
        (end_ns - start_ns) / 1e9 as end_s,
        links,
        rate_mbit_s,
    from timed
    where end_ns > begin_ns
)

select * from final
