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
        -- as measured, if it was in every run
        coalesce(
            case
                when bool_and(runs.is_rate_measured)
                    then median(runs.rate_mbit_s)
            end,
            any_value(runs.rate_asked_mbit_s),
            median(runs.rate_mbit_s)
        ) as rate_mbit_s,
        count(*) as runs,
    from points
    inner join runs using (run)
    group by all
),

-- A capture of grade D is no source of gaps; one of grade C is counted.
grades as (
    select
        run,
        host,
        max(grade_rank) as worst_rank,
    from captures
    group by run, host
),

qualities as (
    select
        points.app,
        points.problem,
        points.rtt_asked_ms,
        sum(captures.super_packets) / greatest(sum(captures.packets), 1)
            as super_share,
        count(*) filter (captures.grade_rank = 3) as doubtful_captures,
        count(*) filter (captures.grade_rank = 4) as refused_captures,
    from points
    inner join captures using (run)
    group by points.app, points.problem, points.rtt_asked_ms
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
    left join grades using (run, host)
    where streams.is_arrival and coalesce(worst_rank, 1) < 4
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
        doubtful_captures,
        refused_captures,
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
    left join qualities
        on
            counted.app = qualities.app
            and counted.problem = qualities.problem
            and counted.rtt_asked_ms
            is not distinct from qualities.rtt_asked_ms
)

select
    *,
    round(count / of_count, 6) as share,
from final
order by app, problem, rtt_ms, stream, low_us
