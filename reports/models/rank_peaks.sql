-- One row per run that counts, at points that differ in the number of ranks alone: the peak between
-- the sites, of all links and directions together and of the busiest direction.
with

-- ranks in all, of a host, and hosts of a site are three ways to have more of them
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
    from line
    inner join points using (point)
    inner join point_runs using (point)
    inner join counts using (run)
    inner join wan_summaries as sums using (run)
    inner join busiest using (run)
    where sums.from_site is null and sums.to_site is null and counts.ranks > 0
)

select * from final
