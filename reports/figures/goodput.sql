-- One row per application, problem and point whose runs measure the speed of transfers: the goodput
-- of all transfers of a run together, and the source and target of the data.
with

by_run as (
    select
        app_streams.run,
        runs.point,
        app_streams.transport,
        if(
            json_extract_string(runs.parameters, '$.source') = 'disk',
            'disk',
            'memory'
        ) as source,
        if(
            json_extract_string(runs.parameters, '$.target') = 'disk',
            'disk',
            'memory'
        ) as target,
        coalesce(
            json_extract_string(runs.parameters, '$.both_ways') = 'true', false
        ) as is_both_ways,
        bool_or(app_streams.beside_mbit_s is not null) as has_tcp_beside,
        count(*) as streams,
        sum(app_streams.mbit_s) as mbit_s,
    from app_streams
    inner join runs using (run)
    where runs.is_used
    group by all
),

by_point as (
    select
        point,
        transport,
        source,
        target,
        is_both_ways,
        has_tcp_beside,
        count(*) as runs,
        sum(streams)::bigint as streams,
        median(mbit_s) as goodput_mbit_s,
        min(mbit_s) as goodput_mbit_s_min,
        max(mbit_s) as goodput_mbit_s_max,
    from by_run
    group by all
),

final as (
    select
        points.*,
        by_point.* exclude (point) replace (
            rounded(goodput_mbit_s) as goodput_mbit_s,
            rounded(goodput_mbit_s_min) as goodput_mbit_s_min,
            rounded(goodput_mbit_s_max) as goodput_mbit_s_max
        ),
        -- the share of both directions if both are used
        if(
            points.point in (select uneven.point from uneven_points as uneven),
            null,
            rounded(
                by_point.goodput_mbit_s
                / points.rate_asked_mbit_s
                / coalesce(points.links, 1)
                / if(by_point.is_both_ways, 2, 1)
            )
        ) as link_share,
    from by_point
    inner join printed_points as points using (point)
)

select * from final
order by app, problem, is_baseline desc, point, transport
