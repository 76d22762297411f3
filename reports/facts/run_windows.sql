-- One row per run: the time that a figure over time covers, from `start_ns` up to but not including
-- `end_ns`. It is the time of the application's work; where run.json does not state that, of the
-- run; else from the first to the last packet of all hosts.
with

-- the first packet of a file need not be the earliest
packets as (
    select
        run,
        unnest([first_ns, last_ns]) as time_ns,
    from captures
    union all
    select
        run,
        unnest([first_ns, last_ns]) as time_ns,
    from stg_flows
),

spans as (
    select
        run,
        min(time_ns) as first_ns,
        max(time_ns) as last_ns,
    from packets
    group by run
),

limits as (
    select
        runs.run,
        runs.completion_s,
        coalesce(runs.work_start_ns, runs.start_ns, spans.first_ns)
            as start_ns,
        -- the last packet itself belongs to the time
        coalesce(runs.work_end_ns, runs.end_ns, spans.last_ns + 1) as end_ns,
    from runs
    left join spans using (run)
),

final as (
    select
        run,
        start_ns,
        end_ns,
        -- null where it is unknown
        coalesce((end_ns - start_ns) / 1e9, completion_s) as length_s,
    from limits
)

select * from final
