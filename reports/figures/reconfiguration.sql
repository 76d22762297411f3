-- One row per point of an application whose links change while it runs at some point: its
-- completion time, and the link capacity that it has during that time.
with

totals as (
    select
        run,
        count(*) - count(distinct row(site_a, site_b)) as changes,
        sum(links * (end_s - start_s)) as link_s,
        -- unknown if some link has no limit: sum() would leave that link out
        if(
            count(*) filter (rate_mbit_s is null and links > 0) = 0,
            sum(links * rate_mbit_s * (end_s - start_s)),
            null
        ) as offered_mbit,
    from link_stretches
    group by run
),

by_run as (
    select
        runs.app,
        runs.problem,
        runs.point,
        runs.completion_s,
        totals.changes,
        totals.link_s,
        totals.offered_mbit,
        coalesce(sums.wire_bytes, 0) * 8 / 1e6 as carried_mbit,
    from runs
    inner join totals using (run)
    left join wan_summaries as sums
        on
            runs.run = sums.run
            and sums.from_site is null
            and sums.to_site is null
    where runs.is_used and runs.is_alone
),

by_point as (
    select
        app,
        problem,
        point,
        count(*) as runs,
        max(changes) as changes,
        median(completion_s) as completion_s,
        avg(link_s) as link_s,
        avg(offered_mbit) as offered_mbit,
        avg(carried_mbit) as carried_mbit,
    from by_run
    group by app, problem, point
),

final as (
    select
        points.* exclude (label) replace (
            round(points.rtt_ms, 4) as rtt_ms,
            round(points.rate_mbit_s, 4) as rate_mbit_s
        ),
        points.label,
        own.runs,
        own.changes,
        rounded(own.completion_s) as completion_s,
        rounded(own.completion_s / base.completion_s) as slowdown,
        rounded(own.link_s) as link_s,
        rounded(own.link_s / base.link_s) as link_share,
        rounded(own.offered_mbit) as offered_mbit,
        rounded(own.offered_mbit / base.offered_mbit) as offered_share,
        rounded(own.carried_mbit) as carried_mbit,
        rounded(own.carried_mbit / (2 * own.offered_mbit)) as used_share,
    from by_point as own
    inner join points using (app, problem, point)
    left join (
        select by_point.*
        from by_point
        inner join points using (app, problem, point)
        where points.is_baseline
    ) as base
        on own.app = base.app and own.problem = base.problem
    where
        (own.app, own.problem) in (
            select (changed.app, changed.problem)
            from by_point as changed
            where changed.changes > 0
        )
)

select * from final
order by app, problem, is_baseline desc, point
