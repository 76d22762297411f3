-- One row per application, problem, point, pair of sites and number of lightpaths: the share of the
-- time for which that number is enough. A lightpath carries its rate both ways, so the demand of a
-- moment is that of the busier direction.
with

-- the rate of one link between these two sites at the baseline
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

-- One row per point and pair of places, with a number, which is faster to join and sort.
pairs as (
    select
        row_number() over (
            order by seen.point, seen.site_a, seen.site_b
        ) as pair_id,
        seen.point,
        seen.site_a,
        seen.site_b,
        seen.capacity_mbit_s,
        scales.lightpath_mbit_s is null
        and baselines.rate_asked_mbit_s is null as is_rate_assumed,
        coalesce(scales.lightpath_mbit_s, baselines.rate_asked_mbit_s, 1000)
            as lightpath_mbit_s,
    from (
        select
            points.point,
            demands.site_a,
            demands.site_b,
            max(
                coalesce(
                    limits.limit_mbit_s,
                    points.rate_asked_mbit_s * coalesce(points.links, 1)
                )
            ) as capacity_mbit_s,
        from (select distinct
            run,
            site_a,
            site_b
        from wan_demands) as demands
        inner join point_runs using (run)
        inner join points using (point)
        left join wan_limits as limits
            on
                demands.run = limits.run
                and demands.site_a = least(limits.from_site, limits.to_site)
                and demands.site_b = greatest(limits.from_site, limits.to_site)
        group by points.point, demands.site_a, demands.site_b
    ) as seen
    inner join points using (point)
    left join baselines using (app, problem)
    left join scales
        on
            points.app = scales.app
            and points.problem = scales.problem
            and seen.site_a = scales.site_a
            and seen.site_b = scales.site_b
),

-- Directions, and all that a site sends or receives, that came near their capacity. The demand may
-- have been higher.
filled as (
    select distinct
        points.point,
        seen.from_site,
        seen.to_site,
    from wan_summaries as seen
    inner join point_runs using (run)
    inner join points using (point)
    left join wan_limits as limits
        on
            seen.run = limits.run
            and seen.from_site is not distinct from limits.from_site
            and seen.to_site is not distinct from limits.to_site
    where
        seen.peak_mbit_s > 0.8 * coalesce(
            limits.limit_mbit_s,
            -- if run.json states no links
            if(
                seen.from_site is null or seen.to_site is null,
                null,
                points.rate_asked_mbit_s * coalesce(points.links, 1)
            )
        )
),

filled_pairs as (
    select distinct pairs.pair_id
    from pairs
    inner join filled
        on
            pairs.point = filled.point
            and (
                (
                    coalesce(filled.from_site, pairs.site_a) = pairs.site_a
                    and coalesce(filled.to_site, pairs.site_b) = pairs.site_b
                )
                or (
                    coalesce(filled.from_site, pairs.site_b) = pairs.site_b
                    and coalesce(filled.to_site, pairs.site_a) = pairs.site_a
                )
            )
),

-- Looks names up once per run, not for each of millions of demands.
pairs_of_runs as (
    select
        point_runs.run,
        pairs.site_a,
        pairs.site_b,
        pairs.pair_id,
    from pairs
    inner join point_runs using (point)
),

demands as (
    select
        pairs_of_runs.pair_id,
        demands.mbit_s,
        sum(demands.held_ns)::bigint as held_ns,
    from wan_demands as demands
    inner join pairs_of_runs using (run, site_a, site_b)
    group by pairs_of_runs.pair_id, demands.mbit_s
),

-- A run counts for the pairs of places that it has: runs may have different hosts.
places_of_runs as (
    select distinct
        run,
        place,
    from places
    where has_wan
    union
    select distinct
        run,
        'elsewhere' as place,
    from places
    where not has_sites
),

lengths as (
    select
        pairs_of_runs.pair_id,
        count(*) as runs,
        if(runs = 1, any_value(pairs_of_runs.run), null) as run,
        sum(wan_steps.bins)::bigint as steps,
        sum(wan_steps.length_ns)::bigint as length_ns,
        max(wan_steps.step_ns) / 1e6 as step_ms,
        count(*) filter (wan_steps.is_doubtful) as doubtful_runs,
    from pairs_of_runs
    inner join wan_steps using (run)
    semi join places_of_runs as ones
        on
            pairs_of_runs.run = ones.run
            and pairs_of_runs.site_a = ones.place
    semi join places_of_runs as others
        on
            pairs_of_runs.run = others.run
            and pairs_of_runs.site_b = others.place
    group by pairs_of_runs.pair_id
),

ordered as (
    select
        *,
        sum(held_ns) over (partition by pair_id order by mbit_s desc)
            as beyond_ns,
    from demands
),

quantiles as (
    select
        ordered.pair_id,
        any_value(lengths.length_ns) as length_ns,
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
    inner join lengths using (pair_id)
    group by ordered.pair_id
),

measured as (
    select *
    from pairs
    inner join quantiles using (pair_id)
),

-- Over a shorter time, merged packets look like more than the wire carried.
merged as (
    select
        pairs_of_runs.pair_id,
        max(wan_shortest.shortest_ns) / 1e6 as shortest_ms,
    from wan_shortest
    inner join pairs_of_runs
        on
            wan_shortest.run = pairs_of_runs.run
            and least(wan_shortest.from_site, wan_shortest.to_site)
            = pairs_of_runs.site_a
            and greatest(wan_shortest.from_site, wan_shortest.to_site)
            = pairs_of_runs.site_b
    group by pairs_of_runs.pair_id
),

needs as (
    select
        pairs.pair_id,
        -- A rounding error does not need another lightpath.
        ceil(demands.mbit_s / pairs.lightpath_mbit_s - 1e-9)::bigint
            as lightpaths,
        sum(demands.held_ns)::bigint as held_ns,
    from demands
    inner join pairs using (pair_id)
    group by pairs.pair_id, lightpaths
),

-- One lightpath is always listed, as it may be enough.
listed as (
    select * from needs
    union all
    select
        pair_id,
        1 as lightpaths,
        0 as held_ns,
    from pairs
    where
        pair_id not in (
            select needs.pair_id
            from needs
            where needs.lightpaths = 1
        )
),

missed as (
    select
        pair_id,
        lightpaths,
        coalesce(
            sum(held_ns) over (
                partition by pair_id
                order by lightpaths desc
                rows between unbounded preceding and 1 preceding
            ),
            0
        )::bigint as missed_ns,
    from listed
),

final as (
    select
        points.* exclude (label),
        lengths.run,
        measured.site_a,
        measured.site_b,
        measured.lightpath_mbit_s,
        measured.is_rate_assumed,
        missed.lightpaths,
        -- silence needs none
        round(1 - missed_ns / measured.length_ns, 6) as share_of_time,
        round(1 - busy_ns / measured.length_ns, 6) as silent_share,
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
        measured.pair_id in (select filled_pairs.pair_id from filled_pairs)
            as is_supply_limited,
        lengths.runs,
        lengths.steps,
        lengths.step_ms,
        lengths.doubtful_runs,
        merged.shortest_ms,
    from points
    inner join measured on points.point = measured.point
    inner join missed on measured.pair_id = missed.pair_id
    inner join lengths on measured.pair_id = lengths.pair_id
    left join merged on measured.pair_id = merged.pair_id
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by app, problem, is_baseline desc, point, site_a, site_b, lightpaths
