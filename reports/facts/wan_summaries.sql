-- One row per run and sum of directions (see `wan_sums`): bytes within the time of the run, mean,
-- and quantiles and peak of the rate over that time, silence included. The rate at the quantile q
-- is exceeded for at most 1 - q of the time.
with

sent as (
    select
        run,
        from_site,
        to_site,
        sum(wire_bytes) filter (is_within)::bigint as wire_bytes,
        sum(wire_bytes)::bigint as all_bytes,
        bool_or(is_far_side) as is_far_side,
    from wan_traffic
    group by grouping sets (
        (run, from_site, to_site), (run, from_site), (run, to_site), (run)
    )
),

-- Finds the bucket of each quantile first, so that only the stretches in that bucket are sorted.
buckets as (
    select
        sum_id,
        bucket_of(window_bytes) as bucket,
        sum(held_ns)::bigint as held_ns,
        max(window_bytes) as top_bytes,
    from wan_rates
    group by sum_id, bucket
),

risen as (
    select
        *,
        sum(held_ns) over (partition by sum_id order by bucket desc)::bigint
            as beyond_ns,
    from buckets
),

limits as (
    select
        sums.sum_id,
        unnest([50, 95, 99]) as percent,
        above_ns(any_value(steps.length_ns), percent / 100) as limit_ns,
    from wan_sums as sums
    inner join wan_steps as steps using (run)
    group by sums.sum_id
),

cuts as (
    select
        limits.sum_id,
        limits.percent,
        limits.limit_ns,
        max(risen.bucket) as bucket,
        max_by(risen.beyond_ns - risen.held_ns, risen.bucket) as higher_ns,
    from limits
    inner join risen using (sum_id)
    where risen.beyond_ns > limits.limit_ns
    group by limits.sum_id, limits.percent, limits.limit_ns
),

around as (
    select
        cuts.sum_id,
        cuts.percent,
        cuts.limit_ns,
        rates.window_bytes,
        cuts.higher_ns
        + sum(rates.held_ns) over (
            partition by cuts.sum_id, cuts.percent
            order by rates.window_bytes desc
        ) as beyond_ns,
    from wan_rates as rates
    inner join cuts
        on
            rates.sum_id = cuts.sum_id
            and bucket_of(rates.window_bytes) = cuts.bucket
),

quantiles as (
    select
        sum_id,
        max(window_bytes) filter (percent = 50) as p50_bytes,
        max(window_bytes) filter (percent = 95) as p95_bytes,
        max(window_bytes) filter (percent = 99) as p99_bytes,
    from around
    where beyond_ns > limit_ns
    group by sum_id
),

peaks as (
    select
        sum_id,
        max(top_bytes) as peak_bytes,
    from buckets
    group by sum_id
),

final as (
    select
        sent.run,
        sent.from_site,
        sent.to_site,
        steps.step_ns,
        steps.length_ns,
        coalesce(sent.wire_bytes, 0) as wire_bytes,
        sent.all_bytes,
        sent.is_far_side,
        steps.is_doubtful,
        coalesce(sent.wire_bytes, 0) * 8e3 / steps.length_ns as mean_mbit_s,
        coalesce(quantiles.p50_bytes, 0) * 8e3 / steps.step_ns as p50_mbit_s,
        coalesce(quantiles.p95_bytes, 0) * 8e3 / steps.step_ns as p95_mbit_s,
        coalesce(quantiles.p99_bytes, 0) * 8e3 / steps.step_ns as p99_mbit_s,
        coalesce(peaks.peak_bytes, 0) * 8e3 / steps.step_ns as peak_mbit_s,
    from sent
    inner join wan_steps as steps using (run)
    inner join wan_sums as sums
        on
            sent.run = sums.run
            and sent.from_site is not distinct from sums.from_site
            and sent.to_site is not distinct from sums.to_site
    left join peaks using (sum_id)
    left join quantiles using (sum_id)
)

select * from final
