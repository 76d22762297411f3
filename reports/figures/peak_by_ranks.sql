-- One row per application, problem and point: peak and mean of the wide-area throughput,
-- of all links and directions together and of the busiest direction, and the ranks.
with

counts as (
    select
        run,
        count(*) as hosts,
        sum(ranks) as ranks,
        bool_or(is_guessed) as is_guessed,
    from host_ranks
    group by run
),

sums as (
    select *
    from wan_summaries
    where from_site is null and to_site is null
),

busiest as (
    select
        run,
        arg_max(
            from_site, (peak_mbit_s, mean_mbit_s, from_site, to_site)
        ) as from_site,
        arg_max(
            to_site, (peak_mbit_s, mean_mbit_s, from_site, to_site)
        ) as to_site,
        max(peak_mbit_s) as peak_mbit_s,
    from wan_summaries
    where from_site is not null and to_site is not null
    group by run
),

by_point as (
    select
        point_runs.point,
        count(*) as runs,
        median(counts.hosts) as hosts,
        median(counts.ranks) as total_ranks,
        bool_or(counts.is_guessed) as is_ranks_guessed,
        median(sums.peak_mbit_s) as peak_mbit_s,
        min(sums.peak_mbit_s) as peak_mbit_s_min,
        max(sums.peak_mbit_s) as peak_mbit_s_max,
        median(sums.mean_mbit_s) as mean_mbit_s,
        median(sums.peak_mbit_s / counts.ranks) as peak_mbit_s_per_rank,
        median(busiest.peak_mbit_s) as direction_peak_mbit_s,
        arg_max(busiest.from_site, (busiest.peak_mbit_s, sums.run))
            as busiest_from,
        arg_max(busiest.to_site, (busiest.peak_mbit_s, sums.run))
            as busiest_to,
        max(sums.step_ns) / 1e6 as step_ms,
        count(*) filter (sums.is_doubtful) as doubtful_runs,
        max(shortest.shortest_ns) / 1e6 as shortest_ms,
        bool_and(coalesce(shortest.is_peak_known, true)) as is_peak_known,
    from sums
    inner join point_runs using (run)
    inner join counts using (run)
    inner join busiest using (run)
    left join wan_shortest_runs as shortest
        on sums.run = shortest.run and shortest.site is null
    group by point_runs.point
),

final as (
    select
        points.* exclude (label, ranks),
        by_point.hosts::bigint as hosts,
        by_point.total_ranks as ranks,
        by_point.* exclude (point, hosts, total_ranks),
    from points
    inner join by_point on points.point = by_point.point
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s,
        round(peak_mbit_s, 4) as peak_mbit_s,
        round(peak_mbit_s_min, 4) as peak_mbit_s_min,
        round(peak_mbit_s_max, 4) as peak_mbit_s_max,
        round(mean_mbit_s, 4) as mean_mbit_s,
        round(peak_mbit_s_per_rank, 4) as peak_mbit_s_per_rank,
        round(direction_peak_mbit_s, 4) as direction_peak_mbit_s
    ),
from final
order by app, problem, is_baseline desc, ranks, point
