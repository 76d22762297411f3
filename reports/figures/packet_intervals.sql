-- One row per application, problem, RTT, stream and 1/20 decade of the gaps between
-- consecutive packets of a flow that crossed between the sites, where it arrived.
-- Stream 'data' is the direction of a connection with more payload, 'replies' the
-- other. The row with high_us = 0 counts equal time stamps.
with

points as (
    select
        run,
        app,
        problem,
        x_asked as rtt_asked_ms,
    from sweep_runs
    where axis = 'rtt' and is_used and has_baseline_buffer
    union
    -- without a sweep of the RTT there is still the shown run
    select
        shown_runs.run,
        shown_runs.app,
        shown_runs.problem,
        runs.rtt_asked_ms,
    from shown_runs
    inner join runs using (run)
    where shown_runs.run not in (
        select run from sweep_runs where axis = 'rtt' and has_baseline_buffer
    )
),

positions as (
    select
        points.app,
        points.problem,
        points.rtt_asked_ms,
        median(runs.rtt_ms) as rtt_ms,
        median(runs.rate_mbit_s) as rate_mbit_s,
        count(*) as runs,
    from points
    inner join runs using (run)
    group by all
),

merged as (
    select
        points.app,
        points.problem,
        points.rtt_asked_ms,
        sum(captures.super_packets) / greatest(sum(captures.packets), 1)
            as super_share,
    from points
    inner join captures using (run)
    group by all
),

-- at the receiver's capture; where it was not captured, at the one there is
arrivals as (
    select
        run,
        host,
        connection,
        direction,
        payload_bytes,
        is_at_receiver,
        bool_or(is_at_receiver) over (
            partition by run, protocol, src_ip, src_port, dst_ip, dst_port
        ) as has_receiver,
        is_counted,
    from flows
    where is_between_sites and protocol in ('tcp', 'udp')
),

streams as (
    select
        run,
        host,
        connection,
        direction,
        payload_bytes,
        max(payload_bytes) over (
            partition by run, host, connection
        ) as largest,
        is_at_receiver or (is_counted and not has_receiver) as is_arrival,
    from arrivals
),

counted as (
    select
        points.app,
        points.problem,
        points.rtt_asked_ms,
        if(streams.payload_bytes = streams.largest, 'data', 'replies')
            as stream,
        -- a bucket belongs to the 1/20 decade of its middle
        case
            when intervals.bucket_low_ns = 0 then null
            else floor(
                log10((intervals.bucket_low_ns + intervals.bucket_high_ns) / 2)
                * 20
            )
        end as twentieth,
        sum(intervals.count)::bigint as count,
    from stg_intervals as intervals
    inner join streams using (run, host, connection, direction)
    inner join points using (run)
    where streams.is_arrival
    group by all
),

final as (
    select
        counted.app,
        counted.problem,
        counted.rtt_asked_ms,
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s,
        runs,
        round(super_share, 6) as super_share,
        stream,
        coalesce(round(pow(10, twentieth / 20) / 1e3, 6), 0) as low_us,
        coalesce(round(pow(10, (twentieth + 1) / 20) / 1e3, 6), 0) as high_us,
        count,
        sum(count) over (
            partition by
                counted.app, counted.problem, counted.rtt_asked_ms, stream
        )::bigint as of_count,
    from counted
    inner join positions
        on
            counted.app = positions.app
            and counted.problem = positions.problem
            and counted.rtt_asked_ms is not distinct from positions.rtt_asked_ms
    left join merged
        on
            counted.app = merged.app
            and counted.problem = merged.problem
            and counted.rtt_asked_ms is not distinct from merged.rtt_asked_ms
)

select
    *,
    round(count / of_count, 6) as share,
from final
order by app, problem, rtt_ms, stream, low_us
