-- One row per application, problem, point and site, and one for all sites together (null):
-- wide-area throughput divided by the ranks there; medians over the valid runs.
with

counts as (
    select
        run,
        site,
        count(*) as hosts,
        sum(ranks) as ranks,
        bool_or(is_guessed) as is_guessed,
    from host_ranks
    group by grouping sets ((run, site), (run))
),

-- what all sites send is what all receive
sent as (
    select
        run,
        from_site as site,
        mean_mbit_s,
        peak_mbit_s,
    from wan_summaries
    where to_site is null
),

received as (
    select
        run,
        to_site as site,
        mean_mbit_s,
        peak_mbit_s,
    from wan_summaries
    where from_site is null
),

by_run as (
    select
        counts.run,
        counts.site,
        counts.hosts,
        counts.ranks,
        counts.is_guessed,
        wan_steps.is_doubtful,
        coalesce(sent.mean_mbit_s, 0) / counts.ranks as sent_mbit_s,
        coalesce(sent.peak_mbit_s, 0) / counts.ranks as sent_peak_mbit_s,
        coalesce(received.mean_mbit_s, 0) / counts.ranks as received_mbit_s,
        coalesce(received.peak_mbit_s, 0) / counts.ranks
            as received_peak_mbit_s,
        shortest.shortest_ns,
        coalesce(shortest.is_peak_known, true) as is_peak_known,
    from counts
    inner join wan_steps using (run)
    left join sent
        on
            counts.run = sent.run
            and counts.site is not distinct from sent.site
    left join received
        on
            counts.run = received.run
            and counts.site is not distinct from received.site
    left join wan_shortest_runs as shortest
        on
            counts.run = shortest.run
            and counts.site is not distinct from shortest.site
    where counts.ranks > 0 and counts.run in (select run from wan_summaries)
),

by_point as (
    select
        point_runs.point,
        by_run.site,
        count(*) as runs,
        median(by_run.hosts)::bigint as hosts,
        median(by_run.ranks) as site_ranks,
        bool_or(by_run.is_guessed) as is_ranks_guessed,
        count(*) filter (by_run.is_doubtful) as doubtful_runs,
        median(by_run.sent_mbit_s) as sent_mbit_s,
        median(by_run.sent_peak_mbit_s) as sent_peak_mbit_s,
        median(by_run.received_mbit_s) as received_mbit_s,
        median(by_run.received_peak_mbit_s) as received_peak_mbit_s,
        max(by_run.shortest_ns) / 1e6 as shortest_ms,
        bool_and(by_run.is_peak_known) as is_peak_known,
    from by_run
    inner join point_runs using (run)
    group by point_runs.point, by_run.site
),

final as (
    select
        points.* exclude (label, ranks),
        by_point.site,
        by_point.hosts,
        by_point.site_ranks as ranks,
        by_point.* exclude (point, site, hosts, site_ranks),
    from points
    inner join by_point on points.point = by_point.point
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s,
        round(sent_mbit_s, 4) as sent_mbit_s,
        round(sent_peak_mbit_s, 4) as sent_peak_mbit_s,
        round(received_mbit_s, 4) as received_mbit_s,
        round(received_peak_mbit_s, 4) as received_peak_mbit_s
    ),
from final
order by app, problem, is_baseline desc, point, site nulls first
