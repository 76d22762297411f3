-- One row per application, problem, RTT, stream and 1/20 decade of the gaps between
-- consecutive packets of a flow on the path between the sites, where it arrived.
-- Stream 'data' is the direction of a connection with more payload, 'replies' the
-- other. The row with high_us = 0 counts equal time stamps. The shares at predicted places
-- are of the finer buckets of the tables.
with

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
    from interval_runs as points
    inner join runs using (run)
    group by all
),

qualities as (
    select
        points.app,
        points.problem,
        points.rtt_asked_ms,
        coalesce(
            sum(captures.super_packets) filter (captures.has_gaps)
            / greatest(sum(captures.packets) filter (captures.has_gaps), 1),
            0
        ) as super_share,
        count(*) filter (not captures.has_gaps and captures.has_traffic)
            as doubtful_captures,
        count(*) filter (not captures.has_traffic) as refused_captures,
    from interval_runs as points
    inner join captures using (run)
    group by points.app, points.problem, points.rtt_asked_ms
),

buckets as (
    select
        app,
        problem,
        rtt_asked_ms,
        stream,
        bucket_low_ns / 1e3 as bucket_low_us,
        bucket_high_ns / 1e3 as bucket_high_us,
        sum(count)::bigint as count,
    from (
        select
            points.app,
            points.problem,
            points.rtt_asked_ms,
            gaps.stream,
            unnest(gaps.lows_ns) as bucket_low_ns,
            unnest(gaps.highs_ns) as bucket_high_ns,
            unnest(gaps.counts) as count,
        from interval_histogram as gaps
        inner join interval_runs as points using (run)
    )
    group by all
),

-- gaps of the predicted places: of full frames back to back, of the RTT
places as (
    select
        buckets.*,
        -- 1514 bytes at the rate of the link
        1514 * 8 / nullif(rate_mbit_s, 0) as back_to_back_us,
        -- a gap is near a predicted one within a factor of 1.25
        back_to_back_us * 1.25 as back_to_back_limit_us,
        rtt_ms * 1e3 / 1.25 as near_rtt_low_us,
        rtt_ms * 1e3 * 1.25 as near_rtt_high_us,
    from buckets
    inner join positions
        on
            buckets.app = positions.app
            and buckets.problem = positions.problem
            and buckets.rtt_asked_ms is not distinct from positions.rtt_asked_ms
),

-- a bucket belongs as a whole, or only in part: the true share is from one to the other
labels as (
    select
        app,
        problem,
        rtt_asked_ms,
        stream,
        any_value(back_to_back_us) as back_to_back_us,
        any_value(back_to_back_limit_us) as back_to_back_limit_us,
        any_value(near_rtt_low_us) as near_rtt_low_us,
        any_value(near_rtt_high_us) as near_rtt_high_us,
        sum(count)::bigint as of_count,
        sum(count) filter (bucket_high_us <= back_to_back_limit_us)
            as back_to_back_least,
        sum(count) filter (bucket_low_us <= back_to_back_limit_us)
            as back_to_back_most,
        sum(count) filter (
            bucket_low_us >= near_rtt_low_us
            and bucket_high_us <= near_rtt_high_us
        ) as near_rtt_least,
        sum(count) filter (
            bucket_high_us > near_rtt_low_us
            and bucket_low_us <= near_rtt_high_us
        ) as near_rtt_most,
    from places
    group by app, problem, rtt_asked_ms, stream
),

counted as (
    select
        app,
        problem,
        rtt_asked_ms,
        stream,
        -- a bucket belongs to the 1/20 decade of its middle
        case
            when bucket_low_us = 0 then null
            else floor(
                log10((bucket_low_us + bucket_high_us) * 1e3 / 2) * 20
            )
        end as twentieth,
        sum(count)::bigint as count,
    from buckets
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
        counted.stream,
        coalesce(round(pow(10, twentieth / 20) / 1e3, 6), 0) as low_us,
        coalesce(round(pow(10, (twentieth + 1) / 20) / 1e3, 6), 0) as high_us,
        counted.count,
        labels.of_count,
        round(counted.count / labels.of_count, 6) as share,
        round(back_to_back_us, 4) as back_to_back_us,
        round(back_to_back_limit_us, 4) as back_to_back_limit_us,
        if(
            back_to_back_us is not null,
            round(coalesce(back_to_back_least, 0) / of_count, 6),
            null
        ) as back_to_back_share,
        if(
            back_to_back_us is not null,
            round(coalesce(back_to_back_most, 0) / of_count, 6),
            null
        ) as back_to_back_share_most,
        round(near_rtt_low_us, 4) as near_rtt_low_us,
        round(near_rtt_high_us, 4) as near_rtt_high_us,
        if(
            near_rtt_low_us is not null,
            round(coalesce(near_rtt_least, 0) / of_count, 6),
            null
        ) as near_rtt_share,
        if(
            near_rtt_low_us is not null,
            round(coalesce(near_rtt_most, 0) / of_count, 6),
            null
        ) as near_rtt_share_most,
    from counted
    inner join labels
        on
            counted.app = labels.app
            and counted.problem = labels.problem
            and counted.rtt_asked_ms is not distinct from labels.rtt_asked_ms
            and counted.stream = labels.stream
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

select * from final
order by app, problem, rtt_ms, stream, low_us
