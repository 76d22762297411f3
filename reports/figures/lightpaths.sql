-- One row per application, problem, point, pair of sites and number of lightpaths: for
-- which share of the time so many are enough. A lightpath carries its rate both ways, so
-- the demand of a step is that of the busier direction.
with

pairs as (
    select
        run,
        step,
        least(from_site, to_site) as site_a,
        greatest(from_site, to_site) as site_b,
        max(mbit_s) as mbit_s,
    from wan_series
    where from_site is not null and to_site is not null
    group by all
),

-- one link of the baseline; between these two sites, or of the experiment
scales as (
    select
        runs.app,
        runs.problem,
        links.site_a,
        links.site_b,
        median(links.link_mbit_s) as lightpath_mbit_s,
    from wan_links as links
    inner join runs using (run)
    where runs.is_baseline
    group by all
),

demands as (
    select
        points.point,
        pairs.run,
        pairs.site_a,
        pairs.site_b,
        pairs.mbit_s,
        scales.lightpath_mbit_s is null
        and baselines.rate_asked_mbit_s is null as is_rate_assumed,
        coalesce(scales.lightpath_mbit_s, baselines.rate_asked_mbit_s, 1000)
            as lightpath_mbit_s,
        coalesce(links.link_mbit_s, points.rate_asked_mbit_s)
        * coalesce(links.links, points.links, 1) as capacity_mbit_s,
    from pairs
    inner join points using (run)
    left join baselines using (app, problem)
    left join wan_links as links
        on
            pairs.run = links.run
            and pairs.site_a = links.site_a
            and pairs.site_b = links.site_b
    left join scales
        on
            points.app = scales.app
            and points.problem = scales.problem
            and pairs.site_a = scales.site_a
            and pairs.site_b = scales.site_b
),

needs as (
    select
        *,
        -- a rounding error needs no further lightpath
        ceil(mbit_s / lightpath_mbit_s - 1e-9)::bigint as needed,
    from demands
),

lengths as (
    select
        points.point,
        count(*) as runs,
        sum(wan_steps.steps)::bigint as steps,
        max(wan_steps.step_ns) / 1e6 as step_ms,
        count(*) filter (wan_steps.is_doubtful) as doubtful_runs,
    from points
    inner join wan_steps using (run)
    group by points.point
),

gathered as (
    select
        needs.point,
        needs.site_a,
        needs.site_b,
        any_value(needs.lightpath_mbit_s) as lightpath_mbit_s,
        bool_or(needs.is_rate_assumed) as is_rate_assumed,
        max(needs.capacity_mbit_s) as capacity_mbit_s,
        any_value(lengths.runs) as runs,
        any_value(lengths.steps) as steps,
        any_value(lengths.step_ms) as step_ms,
        any_value(lengths.doubtful_runs) as doubtful_runs,
        list(needs.mbit_s order by needs.mbit_s desc) as rates,
        list_sort(list_distinct(list(greatest(needs.needed, 1)) || [1]))
            as numbers,
        list(needs.needed) as needed_lightpaths,
    from needs
    inner join lengths using (point)
    group by needs.point, needs.site_a, needs.site_b
),

measured as (
    select
        *,
        rate_at(rates, steps, 0.5) as p50_mbit_s,
        rate_at(rates, steps, 0.95) as p95_mbit_s,
        rate_at(rates, steps, 0.99) as p99_mbit_s,
        rates[1] as peak_mbit_s,
        unnest(numbers) as lightpaths,
    from gathered
),

final as (
    select distinct
        points.* exclude (run, point),
        measured.site_a,
        measured.site_b,
        measured.lightpath_mbit_s,
        measured.is_rate_assumed,
        measured.lightpaths,
        -- silent steps need none
        round(
            1 - len(
                list_filter(
                    needed_lightpaths, lambda needed: needed > lightpaths
                )
            )
            / steps,
            6
        ) as share_of_time,
        round(1 - len(rates) / steps, 6) as silent_share,
        round(p50_mbit_s, 4) as p50_mbit_s,
        round(p95_mbit_s, 4) as p95_mbit_s,
        round(p99_mbit_s, 4) as p99_mbit_s,
        round(peak_mbit_s, 4) as peak_mbit_s,
        ceil(p50_mbit_s / lightpath_mbit_s - 1e-9)::bigint as p50_lightpaths,
        ceil(p95_mbit_s / lightpath_mbit_s - 1e-9)::bigint as p95_lightpaths,
        ceil(p99_mbit_s / lightpath_mbit_s - 1e-9)::bigint as p99_lightpaths,
        ceil(peak_mbit_s / lightpath_mbit_s - 1e-9)::bigint
            as peak_lightpaths,
        round(capacity_mbit_s, 4) as capacity_mbit_s,
        peak_mbit_s > 0.8 * capacity_mbit_s as is_supply_limited,
        measured.runs,
        steps,
        step_ms,
        measured.doubtful_runs,
        points.point,
    from points
    inner join measured on points.point = measured.point
)

select
    * exclude (point) replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by app, problem, is_baseline desc, point, site_a, site_b, lightpaths
