-- One row per run and host: the time that its bins cover, empty ones included. It lasts from start
-- to end of the application's work; where run.json does not state that, of the run; else from the
-- first to the last packet of the capture. A bin at either end that lies only partly inside belongs
-- to it.
with

-- the first packet of a file need not be the earliest
packets as (
    select
        run,
        host,
        unnest([first_ns, last_ns]) as time_ns,
    from captures
    union all
    select
        run,
        host,
        unnest([first_ns, last_ns]) as time_ns,
    from stg_flows
),

spans as (
    select
        run,
        host,
        min(time_ns) as first_ns,
        max(time_ns) as last_ns,
    from packets
    group by run, host
),

bins as (
    select
        run,
        max(bin_ns) as bin_ns,
    from stg_throughput
    group by run
),

limits as (
    select
        spans.run,
        spans.host,
        bins.bin_ns,
        coalesce(runs.work_start_ns, runs.start_ns, spans.first_ns)
            as start_ns,
        -- the last packet itself belongs to the time
        coalesce(runs.work_end_ns, runs.end_ns, spans.last_ns + 1) as end_ns,
        case
            when runs.work_start_ns is not null then 'the application''s work'
            when runs.start_ns is not null then 'the whole run'
            else 'first to last packet'
        end as covers,
    from spans
    inner join bins using (run)
    inner join runs using (run)
),

final as (
    select
        *,
        start_ns // bin_ns as first_bin,
        greatest((end_ns + bin_ns - 1) // bin_ns - start_ns // bin_ns, 0)
            as bins,
    from limits
)

select * from final
