-- One row per point, host in its own capture and direction (in or out), or direction between two
-- sites, width of the bins, and step of the distribution of throughput over the time of all runs of
-- the point, silence included.
with

named as (
    select
        pool_runs.point,
        pool_runs.alone,
        coalesce(host_roles.role, throughput.host) as host,
        throughput.from_site,
        throughput.to_site,
        throughput.direction,
        throughput.step_bins * throughput.bin_ns as bin_ns,
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

-- Numbers for a series and a run are grouped and joined quicker than their names.
series_of as (
    select
        *,
        dense_rank() over (
            order by
                point, alone, host, from_site, to_site, direction, bin_ns
        ) as series,
        dense_rank() over (order by run) as run_number,
    from named
),

listed as (
    select
        series,
        run_number as run,
        unnest(buckets) as bucket,
        unnest(tops_mbit_s) as top,
        unnest(bins_in) as time,
    from series_of
    union all by name
    select
        series,
        run_number as run,
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
        any_value(point) as point,
        any_value(alone) as alone,
        any_value(host) as host,
        any_value(from_site) as from_site,
        any_value(to_site) as to_site,
        any_value(direction) as direction,
        any_value(bin_ns) as bin_ns,
        if(count(distinct run) = 1, any_value(run), null) as run,
        sum(steps)::bigint as bins,
        sum(steps - busy_steps)::bigint as empty_bins,
    from series_of
    group by series
)

select
    totals.point,
    totals.alone,
    totals.host,
    totals.from_site,
    totals.to_site,
    totals.direction,
    totals.bin_ns,
    totals.run,
    steps.value as mbit_s,
    steps.share,
    steps.share_low,
    steps.share_high,
    steps.runs,
    totals.bins,
    totals.empty_bins,
from distribution('counted') as steps
inner join totals on steps.series = totals.series
