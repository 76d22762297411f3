-- One row per quantity of flows (duration in s, size in bytes, rate in Mbit/s), point, direction
-- and step of its distribution over the flows of all runs of the point.
with

listed as (
    select
        pool_runs.point,
        pool_runs.alone,
        flow_histogram.run,
        flow_histogram.direction,
        flow_histogram.quantity,
        unnest(buckets) as bucket,
        unnest(tops) as top,
        unnest(flows) as count,
        unnest(begun_before) as begun_before,
        unnest(left_open) as left_open,
        unnest(cut_off) as cut_off,
        unnest(censored) as censored,
    from flow_histogram
    inner join pool_runs using (run)
),

counted as (
    select
        {
            'point': point,
            'alone': alone,
            'direction': direction,
            'quantity': quantity
        } as series,
        *,
    from listed
),

marked as (
    select
        series,
        bucket,
        sum(begun_before)::bigint as begun_before_flows,
        sum(left_open)::bigint as open_flows,
        sum(cut_off)::bigint as cut_flows,
        sum(censored)::bigint as censored_flows,
    from counted
    group by series, bucket
)

select
    unnest(series),
    steps.run,
    steps.value,
    steps.share,
    steps.share_low,
    steps.share_high,
    steps.runs,
    steps.count as flows,
    steps.of_count as of_flows,
    censored_flows,
    open_flows,
    begun_before_flows,
    cut_flows,
    sum(censored_flows) over (partition by series)::bigint as of_censored_flows,
from distribution('counted') as steps
inner join marked using (series, bucket)
