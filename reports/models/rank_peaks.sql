-- One row per run that counts, at points that differ only in the number of ranks: the peak between
-- the sites, of all links and directions together and of the busiest direction. A run has no row if
-- its peak is unknown, because packets were merged by offloading or have no time of their own.
with

-- Three axes change the number of ranks: ranks in total, ranks per host, and hosts per site.
line as (
    select distinct own.point
    from axis_points as own
    inner join axis_points as base using (axis, unit, line)
    inner join points on base.point = points.point
    where
        own.axis in ('ranks', 'ranks_per_host', 'hosts')
        and base.is_reference
        and points.is_baseline
),

counts as (
    select
        run,
        sum(ranks) as ranks,
    from host_ranks
    group by run
),

busiest as (
    select
        run,
        max(peak_mbit_s) as peak_mbit_s,
    from wan_summaries
    where from_site is not null and to_site is not null
    group by run
),

final as (
    select
        points.app,
        points.problem,
        points.point,
        point_runs.run,
        counts.ranks,
        sums.peak_mbit_s,
        busiest.peak_mbit_s as direction_peak_mbit_s,
        shortest.shortest_ns,
    from points
    inner join point_runs using (point)
    inner join counts using (run)
    inner join wan_summaries as sums using (run)
    inner join busiest using (run)
    left join wan_shortest_runs as shortest
        on point_runs.run = shortest.run and shortest.site is null
    where
        points.point in (select point from line)
        and sums.from_site is null
        and sums.to_site is null
        and counts.ranks > 0
        and coalesce(shortest.is_peak_known, true)
)

select * from final
