-- One row per application, problem, point and direction between two places: the most bytes that a
-- connection had in flight, beside its receiver's window and the bandwidth-delay product.
with

connections as (
    select
        sent.run,
        sent.from_site,
        sent.to_site,
        sent.max_in_flight_bytes,
        backward.max_window_bytes,
    from path_flows as sent
    left join flows as backward
        on
            sent.run = backward.run
            and sent.host = backward.host
            and sent.connection = backward.connection
            and sent.direction <> backward.direction
    where sent.is_at_sender and sent.max_in_flight_bytes > 0
),

by_run as (
    select
        run,
        from_site,
        to_site,
        count(*) as connections,
        max(max_in_flight_bytes) as in_flight_bytes,
        -- the largest window of those with equal bytes in flight
        arg_max(
            max_window_bytes,
            row(max_in_flight_bytes, coalesce(max_window_bytes, 0))
        ) as window_bytes,
    from connections
    group by run, from_site, to_site
),

by_point as (
    select
        point_runs.point,
        by_run.from_site,
        by_run.to_site,
        count(*) as runs_used,
        sum(by_run.connections)::bigint as connections,
        median(by_run.in_flight_bytes) as in_flight_bytes,
        max(by_run.in_flight_bytes) as in_flight_bytes_max,
        median(by_run.window_bytes) as window_bytes,
    from by_run
    inner join point_runs using (run)
    group by point_runs.point, by_run.from_site, by_run.to_site
),

final as (
    select
        points.* exclude (label),
        by_point.* exclude (point),
        -- 1 Mbit/s times 1 ms is 125 bytes.
        rounded(
            coalesce(points.rate_mbit_s, points.rate_asked_mbit_s)
            * coalesce(points.rtt_ms, points.rtt_asked_ms)
            * 125
        ) as bdp_bytes,
        rounded(by_point.in_flight_bytes / bdp_bytes) as of_bdp,
    from by_point
    inner join points using (point)
)

select * from final
order by app, problem, is_baseline desc, point, from_site, to_site
