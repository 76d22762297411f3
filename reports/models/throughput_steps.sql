-- One row per point, host in its own capture and direction (in or out), or direction between two
-- sites, width of the bins, and step of the distribution of throughput over the time of all runs of
-- the point, silence included.
with

series_of as (
    select
        {
            'point': pool_runs.point,
            'alone': pool_runs.alone,
            'host': coalesce(host_roles.role, throughput.host),
            'from_site': throughput.from_site,
            'to_site': throughput.to_site,
            'direction': throughput.direction,
            'bin_ns': throughput.step_bins * throughput.bin_ns
        } as series,
        throughput.run,
        throughput.buckets,
        throughput.bins_in,
        throughput.tops_mbit_s,
        throughput.busy_steps,
        throughput.bins - coalesce(list_sum(throughput.bins_in), 0)
            as silent_bins,
        (throughput.bins + throughput.step_bins - 1) // throughput.step_bins
            as steps,
    from throughput_histogram as throughput
    inner join pool_runs using (run)
    left join host_roles using (run, host)
    where not throughput.is_longer
),

listed as (
    select
        series,
        run,
        unnest(buckets) as bucket,
        unnest(tops_mbit_s) as top,
        unnest(bins_in) as time,
    from series_of
    union all by name
    select
        series,
        run,
        bucket_of(0) as bucket,
        0.0 as top,
        silent_bins as time,
    from series_of
),

-- two hosts of one run may have one role
counted as (
    select
        series,
        run,
        bucket,
        max(top) as top,
        sum(time)::bigint as count,
    from listed
    group by series, run, bucket
),

totals as (
    select
        series,
        sum(steps)::bigint as bins,
        sum(steps - busy_steps)::bigint as empty_bins,
    from series_of
    group by series
)

select
    unnest(series),
    steps.run,
    steps.value as mbit_s,
    steps.share,
    steps.share_low,
    steps.share_high,
    steps.runs,
    totals.bins,
    totals.empty_bins,
from distribution('counted') as steps
inner join totals using (series)
