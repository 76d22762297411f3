-- One row per application, problem, point and step of the time since the start of the work: how
-- many messages per second between the sites began in it.
with

pooled as (
    select
        pool_runs.point,
        pool_runs.alone,
        series.*,
        -- The runs of a point are added up step by step, so they share the widest step.
        max(series.step_ns) over one_pool as wide_ns,
        -- A rest of less than half a step belongs to the last whole step.
        greatest((series.length_ns + wide_ns // 2) // wide_ns, 1) as all_steps,
        if(count(*) over one_pool = 1, series.run, null) as only_run,
    from message_series as series
    inner join pool_runs using (run)
    where not pool_runs.is_shown_only and series.length_ns > 0
    window one_pool as (partition by pool_runs.point, pool_runs.alone)
),

-- A run that has ended is not silent: it has no more steps.
grid as (
    select
        point,
        alone,
        run,
        only_run,
        wide_ns,
        unnest(generate_series(0, all_steps - 1)) as step,
        if(step < all_steps - 1, (step + 1) * wide_ns, length_ns) as end_ns,
    from pooled
),

listed as (
    select
        run,
        least(step * step_ns // wide_ns, all_steps - 1) as step,
        messages,
        bytes,
    from (
        select
            run,
            step_ns,
            wide_ns,
            all_steps,
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

cut as (
    select
        run,
        least(cut_at_ns // wide_ns, all_steps - 1) as step,
        sum(cut_ns) as cut_ns,
    from (
        select
            run,
            wide_ns,
            all_steps,
            unnest(cut_at_ns) as cut_at_ns,
            unnest(cut_ns) as cut_ns,
        from pooled
    )
    group by all
),

rates as (
    select
        grid.*,
        coalesce(summed.messages, 0) as messages,
        coalesce(summed.bytes, 0) as bytes,
        coalesce(cut.cut_ns, 0) as cut_ns,
        coalesce(summed.messages, 0) * 1e9
        / (grid.end_ns - grid.step * grid.wide_ns) as messages_s,
    from grid
    left join summed using (run, step)
    left join cut using (run, step)
),

counted as (
    select
        point,
        alone,
        any_value(only_run) as run,
        step,
        any_value(wide_ns) as wide_ns,
        -- The end of the last step is that of the longest run.
        max(end_ns) as end_ns,
        count(*) as runs,
        sum(messages)::bigint as messages,
        sum(bytes)::bigint as bytes,
        avg(messages_s) as messages_s,
        min(messages_s) as messages_s_min,
        max(messages_s) as messages_s_max,
        max(cut_ns) as cut_ns,
    from rates
    group by point, alone, step
),

final as (
    select
        point,
        run,
        step * wide_ns / 1e9 as start_s,
        if(
            lead(step) over one_pool is null,
            end_ns,
            (step + 1) * wide_ns
        ) / 1e9 as end_s,
        runs,
        messages,
        bytes,
        rounded(messages_s) as messages_s,
        rounded(messages_s_min) as messages_s_min,
        rounded(messages_s_max) as messages_s_max,
        cut_ns / 1e9 as cut_s,
    from counted
    window one_pool as (partition by point, alone order by step)
)

select
    points.*,
    final.* exclude (point),
from printed_points as points
inner join final using (point)
order by app, problem, is_baseline desc, point, run, start_s
