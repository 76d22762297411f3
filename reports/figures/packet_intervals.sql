-- One row per application, problem, point, stream and 1/20 decade of the gaps between consecutive
-- packets of a flow on the path between the sites, where it arrived. Stream 'data' is the direction
-- of a connection with more payload, 'replies' the other. The row with high_us = 0 counts equal
-- time stamps. The shares near predicted gaps come from the finer buckets of the tables.
with

pools as (
    select
        point,
        alone,
        count(*) as runs,
    from pool_runs
    group by point, alone
),

qualities as (
    select
        pool_runs.point,
        pool_runs.alone,
        coalesce(
            sum(captures.super_packets) filter (captures.has_gaps)
            / greatest(sum(captures.packets) filter (captures.has_gaps), 1),
            0
        ) as super_share,
        count(distinct row(captures.run, captures.host)) filter (
            not captures.has_gaps and captures.has_traffic
        ) as doubtful_captures,
        count(distinct row(captures.run, captures.host)) filter (not captures.has_traffic)
            as refused_captures,
    from captures
    inner join pool_runs using (run)
    group by pool_runs.point, pool_runs.alone
),

buckets as (
    select
        {
            'point': pool_runs.point,
            'alone': pool_runs.alone,
            'stream': gaps.stream
        } as series,
        gaps.run,
        unnest(gaps.lows_ns) / 1e3 as bucket_low_us,
        unnest(gaps.highs_ns) / 1e3 as bucket_high_us,
        unnest(gaps.counts) as count,
    from interval_histogram as gaps
    inner join pool_runs using (run)
),

-- A bucket belongs to the 1/20 decade of its middle; -1000 stands for equal time stamps.
counted as (
    select
        series,
        run,
        case
            when bucket_low_us = 0 then -1000
            else floor(
                log10((bucket_low_us + bucket_high_us) * 1e3 / 2) * 20
            )
        end as bucket,
        0 as top,
        sum(count)::bigint as count,
    from buckets
    group by all
),

frames as (
    select
        {
            'point': pool_runs.point,
            'alone': pool_runs.alone,
            'stream': streams.stream
        } as series,
        sum(streams.wire_bytes) / sum(streams.packets) as mean_bytes,
    from interval_streams as streams
    inner join pool_runs using (run)
    where streams.is_counted
    group by all
),

-- predicted gaps: between full frames back to back, and the RTT
predicted as (
    select
        frames.series,
        -- 1514 bytes at the rate of the link, if all directions have the same; small packets back
        -- to back are much closer, and how close depends on their sizes
        if(
            uneven.point is null and coalesce(frames.mean_bytes >= 1514 / 2, true),
            1514 * 8 / nullif(points.rate_mbit_s, 0),
            null
        ) as back_to_back_us,
        -- a gap is near a predicted one within a factor of 1.25
        back_to_back_us / 1.25 as back_to_back_low_us,
        back_to_back_us * 1.25 as back_to_back_limit_us,
        points.rtt_ms * 1e3 / 1.25 as near_rtt_low_us,
        points.rtt_ms * 1e3 * 1.25 as near_rtt_high_us,
    from frames
    inner join points on (frames.series).point = points.point
    left join uneven_points as uneven on points.point = uneven.point
),

-- A bucket may lie in a range wholly or partly: the true share lies between the two counts.
labels as (
    select
        series,
        any_value(back_to_back_us) as back_to_back_us,
        any_value(back_to_back_limit_us) as back_to_back_limit_us,
        any_value(near_rtt_low_us) as near_rtt_low_us,
        any_value(near_rtt_high_us) as near_rtt_high_us,
        sum(count) as of_count,
        sum(count) filter (bucket_high_us <= back_to_back_limit_us)
            as back_to_back_least,
        sum(count) filter (bucket_low_us <= back_to_back_limit_us)
            as back_to_back_most,
        sum(count) filter (
            bucket_low_us >= back_to_back_low_us
            and bucket_high_us <= back_to_back_limit_us
        ) as near_serialisation_least,
        sum(count) filter (
            bucket_high_us > back_to_back_low_us
            and bucket_low_us <= back_to_back_limit_us
        ) as near_serialisation_most,
        sum(count) filter (
            bucket_low_us >= near_rtt_low_us
            and bucket_high_us <= near_rtt_high_us
        ) as near_rtt_least,
        sum(count) filter (
            bucket_high_us > near_rtt_low_us
            and bucket_low_us <= near_rtt_high_us
        ) as near_rtt_most,
    from buckets
    inner join predicted using (series)
    group by series
),

per_run as (
    select
        series,
        run,
        bucket,
        count / sum(count) over (partition by series, run) as share,
    from counted
),

spread as (
    select
        series,
        bucket,
        -- a run without such a gap has a share of 0
        if(
            count(*) < any_value(distribution_of.runs), 0, min(per_run.share)
        ) as share_low,
        max(per_run.share) as share_high,
    from per_run
    inner join (
        select
            series,
            count(distinct run) as runs,
        from counted
        group by series
    ) as distribution_of using (series)
    group by series, bucket
),

final as (
    select
        (steps.series).point as point,
        if(pools.runs = 1, steps.run, null) as run,
        pools.runs,
        round(super_share, 6) as super_share,
        doubtful_captures,
        refused_captures,
        (steps.series).stream as stream,
        if(steps.bucket = -1000, 0, round(pow(10, steps.bucket / 20) / 1e3, 6))
            as low_us,
        if(
            steps.bucket = -1000,
            0,
            round(pow(10, (steps.bucket + 1) / 20) / 1e3, 6)
        ) as high_us,
        steps.count,
        labels.of_count::bigint as of_count,
        round(steps.count / labels.of_count, 6) as share,
        round(spread.share_low, 6) as share_low,
        round(spread.share_high, 6) as share_high,
        steps.share as share_below,
        round(back_to_back_us, 4) as back_to_back_us,
        round(back_to_back_limit_us, 4) as back_to_back_limit_us,
        if(
            back_to_back_us is not null,
            round(coalesce(back_to_back_least, 0) / labels.of_count, 6),
            null
        ) as back_to_back_share,
        if(
            back_to_back_us is not null,
            round(coalesce(back_to_back_most, 0) / labels.of_count, 6),
            null
        ) as back_to_back_share_most,
        if(
            back_to_back_us is not null,
            round(coalesce(near_serialisation_least, 0) / labels.of_count, 6),
            null
        ) as near_serialisation_share,
        if(
            back_to_back_us is not null,
            round(coalesce(near_serialisation_most, 0) / labels.of_count, 6),
            null
        ) as near_serialisation_share_most,
        round(near_rtt_low_us, 4) as near_rtt_low_us,
        round(near_rtt_high_us, 4) as near_rtt_high_us,
        if(
            near_rtt_low_us is not null,
            round(coalesce(near_rtt_least, 0) / labels.of_count, 6),
            null
        ) as near_rtt_share,
        if(
            near_rtt_low_us is not null,
            round(coalesce(near_rtt_most, 0) / labels.of_count, 6),
            null
        ) as near_rtt_share_most,
    from distribution('counted') as steps
    inner join labels using (series)
    inner join spread using (series, bucket)
    inner join pools
        on
            (steps.series).point = pools.point
            and (steps.series).alone is not distinct from pools.alone
    left join qualities
        on
            pools.point = qualities.point
            and pools.alone is not distinct from qualities.alone
)

select
    points.*,
    final.* exclude (point),
from printed_points as points
inner join final using (point)
order by app, problem, is_baseline desc, point, run, stream, low_us
