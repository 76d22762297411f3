-- One row per application, problem, point, pair of sites and number of lightpaths: for
-- which share of the time so many are enough. A lightpath carries its rate both ways, so
-- the demand of a moment is that of the busier direction.
with

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
        demands.run,
        demands.site_a,
        demands.site_b,
        demands.held_ns,
        demands.mbit_s,
        scales.lightpath_mbit_s is null
        and baselines.rate_asked_mbit_s is null as is_rate_assumed,
        coalesce(scales.lightpath_mbit_s, baselines.rate_asked_mbit_s, 1000)
            as lightpath_mbit_s,
        coalesce(links.link_mbit_s, points.rate_asked_mbit_s)
        * coalesce(links.links, points.links, 1) as capacity_mbit_s,
    from wan_demands as demands
    inner join point_runs using (run)
    inner join points using (point)
    left join baselines using (app, problem)
    left join wan_links as links
        on
            demands.run = links.run
            and demands.site_a = links.site_a
            and demands.site_b = links.site_b
    left join scales
        on
            points.app = scales.app
            and points.problem = scales.problem
            and demands.site_a = scales.site_a
            and demands.site_b = scales.site_b
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
        point_runs.point,
        count(*) as runs,
        sum(wan_steps.bins)::bigint as steps,
        sum(wan_steps.length_ns)::bigint as length_ns,
        max(wan_steps.step_ns) / 1e6 as step_ms,
        count(*) filter (wan_steps.is_doubtful) as doubtful_runs,
    from point_runs
    inner join wan_steps using (run)
    group by point_runs.point
),

ordered as (
    select
        needs.*,
        lengths.length_ns,
        sum(needs.held_ns) over (
            partition by needs.point, needs.site_a, needs.site_b
            order by needs.mbit_s desc
        ) as beyond_ns,
    from needs
    inner join lengths using (point)
),

measured as (
    select
        point,
        site_a,
        site_b,
        any_value(lightpath_mbit_s) as lightpath_mbit_s,
        bool_or(is_rate_assumed) as is_rate_assumed,
        max(capacity_mbit_s) as capacity_mbit_s,
        sum(held_ns)::bigint as busy_ns,
        coalesce(
            max(mbit_s) filter (beyond_ns > above_ns(length_ns, 0.5)), 0
        ) as p50_mbit_s,
        coalesce(
            max(mbit_s) filter (beyond_ns > above_ns(length_ns, 0.95)), 0
        ) as p95_mbit_s,
        coalesce(
            max(mbit_s) filter (beyond_ns > above_ns(length_ns, 0.99)), 0
        ) as p99_mbit_s,
        max(mbit_s) as peak_mbit_s,
    from ordered
    group by point, site_a, site_b
),

-- one is listed always: it may be enough
numbers as (
    select
        point,
        site_a,
        site_b,
        needed as lightpaths,
    from needs
    union
    select
        point,
        site_a,
        site_b,
        1 as lightpaths,
    from needs
),

missed as (
    select
        numbers.point,
        numbers.site_a,
        numbers.site_b,
        numbers.lightpaths,
        coalesce(
            sum(needs.held_ns) filter (needs.needed > numbers.lightpaths), 0
        )::bigint as missed_ns,
    from numbers
    inner join needs using (point, site_a, site_b)
    group by all
),

final as (
    select
        points.* exclude (label),
        measured.site_a,
        measured.site_b,
        measured.lightpath_mbit_s,
        measured.is_rate_assumed,
        missed.lightpaths,
        -- silence needs none
        round(1 - missed_ns / length_ns, 6) as share_of_time,
        round(1 - busy_ns / length_ns, 6) as silent_share,
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
        lengths.runs,
        lengths.steps,
        lengths.step_ms,
        lengths.doubtful_runs,
    from points
    inner join measured on points.point = measured.point
    inner join missed
        on
            measured.point = missed.point
            and measured.site_a = missed.site_a
            and measured.site_b = missed.site_b
    inner join lengths on points.point = lengths.point
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by app, problem, is_baseline desc, point, site_a, site_b, lightpaths
