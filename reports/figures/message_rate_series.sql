-- One row per application, problem, point and step of the time since the start of the work: how
-- many messages between the sites began in it, by the second.
with

pooled as (
    select
        pool_runs.point,
        pool_runs.alone,
        series.*,
        -- rates of points are compared, so that their steps have to be alike
        max(series.step_ns) over (
            partition by points.app, points.problem
        ) as wide_ns,
        if(count(*) over one_pool = 1, series.run, null) as only_run,
    from message_series as series
    inner join pool_runs using (run)
    inner join points using (point)
    where not pool_runs.is_shown_only and series.length_ns > 0
    window one_pool as (partition by pool_runs.point, pool_runs.alone)
),

-- a run that has ended is not silent, but for what is left of its last step
grid as (
    select
        point,
        alone,
        run,
        only_run,
        wide_ns,
        length_ns,
        unnest(
            generate_series(0, greatest((length_ns - 1) // wide_ns, 0))
        ) as step,
    from pooled
),

listed as (
    select
        run,
        step_ns,
        wide_ns,
        -- a message may begin at the very end
        least(step * step_ns, length_ns - 1) // wide_ns as step,
        messages,
        bytes,
    from (
        select
            run,
            step_ns,
            wide_ns,
            length_ns,
            unnest(steps) as step,
            unnest(messages) as messages,
            unnest(bytes) as bytes,
        from pooled
    )
),

summed as (
    select
        run,
        step,
        sum(messages) as messages,
        sum(bytes) as bytes,
    from listed
    group by run, step
),

rates as (
    select
        grid.*,
        coalesce(summed.messages, 0) as messages,
        coalesce(summed.bytes, 0) as bytes,
        least((grid.step + 1) * wide_ns, length_ns) / 1e9 as end_s,
        coalesce(summed.messages, 0) / wide_ns * 1e9 as messages_s,
    from grid
    left join summed using (run, step)
),

final as (
    select
        point,
        any_value(only_run) as run,
        step * wide_ns / 1e9 as start_s,
        max(end_s) as end_s,
        count(*) as runs,
        sum(messages)::bigint as messages,
        sum(bytes)::bigint as bytes,
        round(avg(messages_s), 4) as messages_s,
        round(min(messages_s), 4) as messages_s_min,
        round(max(messages_s), 4) as messages_s_max,
    from rates
    group by point, alone, step, wide_ns
)

select
    points.* exclude (label) replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
    final.* exclude (point),
from points
inner join final using (point)
order by app, problem, is_baseline desc, point, run, start_s
