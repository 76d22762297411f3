-- One row per application and problem at the baseline, where an application has
-- several problems: how time and traffic grow with its size.
with

traffic as (
    select
        run,
        sum(wire_bytes) as wire_bytes,
        sum(packets) as packets,
    from flows
    where is_counted
    group by run
),

problems as (
    select
        app,
        problem,
        count(*) as runs_used,
        median(completion_s) as completion_s,
        median(wire_bytes) / 1e6 as traffic_mb,
        median(packets) as packets,
        median(wire_bytes * 8e-6 / completion_s) as mbit_s,
        count(*) over (partition by app) as problems,
    from runs
    left join traffic using (run)
    where is_used and is_timed and is_baseline
    group by app, problem
),

final as (
    select
        app,
        problem,
        runs_used,
        round(completion_s, 4) as completion_s,
        round(traffic_mb, 4) as traffic_mb,
        packets::bigint as packets,
        round(mbit_s, 4) as mbit_s,
    from problems
    where problems >= 2
)

select * from final
order by app, completion_s, problem
