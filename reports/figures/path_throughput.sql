-- One row per line of the sweep, point on it and direction between two places: mean throughput
-- over the run, and the goodput in it, along every axis that was varied.
with

-- the share of wire bytes that is payload sent for the first time
shares as (
    select
        run,
        from_site,
        to_site,
        sum(payload_bytes - coalesce(retransmitted_bytes, 0))
        / nullif(sum(wire_bytes), 0) as goodput_share,
    from path_flows
    group by run, from_site, to_site
),

by_point as (
    select
        point_runs.point,
        rates.from_site,
        rates.to_site,
        count(*) as runs_used,
        median(rates.mean_mbit_s) as throughput_mbit_s,
        min(rates.mean_mbit_s) as throughput_mbit_s_min,
        max(rates.mean_mbit_s) as throughput_mbit_s_max,
        median(rates.mean_mbit_s * shares.goodput_share) as goodput_mbit_s,
        bool_or(rates.is_far_side) as is_far_side,
    from wan_summaries as rates
    inner join point_runs using (run)
    left join shares using (run, from_site, to_site)
    where rates.from_site is not null and rates.to_site is not null
    group by point_runs.point, rates.from_site, rates.to_site
),

final as (
    select
        axis_points.axis,
        axis_points.kind,
        axis_points.unit,
        rounded(axis_points.x) as x,
        axis_points.is_reference,
        by_point.from_site,
        by_point.to_site,
        rounded(by_point.throughput_mbit_s) as throughput_mbit_s,
        rounded(by_point.throughput_mbit_s_min) as throughput_mbit_s_min,
        rounded(by_point.throughput_mbit_s_max) as throughput_mbit_s_max,
        rounded(by_point.goodput_mbit_s) as goodput_mbit_s,
        -- the capacity of the link, if all directions have the same rate
        if(
            points.point in (select uneven.point from uneven_points as uneven),
            null,
            rounded(
                coalesce(points.rate_mbit_s, points.rate_asked_mbit_s)
                * coalesce(points.links, 1)
            )
        ) as link_mbit_s,
        by_point.runs_used,
        by_point.is_far_side,
        points.*,
    from axis_points
    inner join points using (app, problem, point)
    inner join by_point on axis_points.point = by_point.point
)

select * exclude (label) from final
order by app, axis, unit, problem, x nulls first, point, from_site, to_site
