-- One row per point, host in its own capture and direction (in or out), or direction between two
-- sites, width of the bins, and step of the distribution of throughput over the time of all runs of
-- the point, silence included. Bins so short that the rate is unknown in one of the runs have no
-- rows.
with

named as (
    select
        {
            'point': pool_runs.point,
            'alone': pool_runs.alone,
            'host': coalesce(host_roles.role, throughput.host),
            'from_site': throughput.from_site,
            'to_site': throughput.to_site,
            'direction': throughput.direction,
            'bin_ns': throughput.step_bins * throughput.bin_ns
        } as key,
        throughput.run,
        throughput.host,
        throughput.buckets,
        throughput.steps_in,
        throughput.steps_up_to,
        throughput.tops_mbit_s,
        throughput.steps,
        throughput.steps - throughput.busy_steps as empty_steps,
    from throughput_histogram as throughput
    inner join pool_runs using (run)
    left join host_roles using (run, host)
    where not throughput.is_longer
    qualify not bool_or(throughput.is_short) over (partition by "key")
),

totals as (
    select
        row_number() over (order by key) as series,
        key,
        if(count(distinct run) = 1, any_value(run), null) as run,
        sum(steps)::bigint as bins,
        sum(empty_steps)::bigint as empty_bins,
    from named
    group by key
),

-- Rate 0 is a bucket too. Grouping by numbers is faster than by names.
summed as (
    select
        totals.series,
        named.run,
        named.steps as of_count,
        unnest(list_prepend(bucket_of(0), named.buckets)) as bucket,
        unnest(list_prepend(0.0, named.tops_mbit_s)) as top,
        unnest(list_prepend(named.empty_steps, named.steps_in)) as count,
        unnest(list_prepend(named.empty_steps, named.steps_up_to)) as up_to,
    from named
    inner join totals on named.key = totals.key
)

select
    totals.key.point,
    totals.key.alone,
    totals.key.host,
    totals.key.from_site,
    totals.key.to_site,
    totals.key.direction,
    totals.key.bin_ns,
    totals.run,
    steps.value as mbit_s,
    steps.share,
    steps.share_low,
    steps.share_high,
    steps.runs,
    totals.bins,
    totals.empty_bins,
from distribution_of('summed') as steps
inner join totals on steps.series = totals.series
