-- One row per run, width of a step, and series: a direction of a host in its own capture (in or
-- out), or the direction between two places (between). The number of steps with a rate in each
-- bucket of `bucket_of` (bit/s), the largest rate in it, and the rate that at most 1 % of the steps
-- exceed. Steps begin with the run and have one width: a last step that the run does not fill ends
-- in silence. `steps` minus the sum of `steps_in` is the number of steps without a packet;
-- `steps_up_to` counts steps at or below the rate of a bucket, empty ones included. `is_short`: a
-- step is shorter than the shortest time whose rate is known (see `shortest_bins`); no step is long
-- enough for packets without a time of their own.
with

hosts_and_pairs as (
    select
        windows.run,
        windows.host,
        null::varchar as from_site,
        null::varchar as to_site,
        unnest(['in', 'out']) as direction,
        windows.bin_ns,
        windows.first_bin,
        windows.bins,
    from windows
    where windows.bins > 0
    union all by name
    select distinct
        traffic.run,
        null::varchar as host,
        traffic.from_site,
        traffic.to_site,
        'between' as direction,
        steps.bin_ns,
        0 as first_bin,
        steps.bins,
    from wan_traffic as traffic
    inner join wan_steps as steps using (run)
    where steps.bins > 0
),

-- Joining and sorting by a number is faster than by names.
numbered as (
    select
        row_number() over (
            order by run, host, from_site, to_site, direction
        ) as series_id,
        *,
    from (select distinct * from hosts_and_pairs)
),

-- 10 ms, 100 ms, 1 s, 1 min, 5 min, in whole bins, and the bins themselves.
series as (
    select
        *,
        step_bins > bins as is_longer,
        (bins + step_bins - 1) // step_bins as steps,
    from (
        select distinct
            numbered.*,
            unnest(
                [1] || [
                    greatest(width_ns // bin_ns, 1)
                    for width_ns in [
                        10_000_000, 100_000_000, 1_000_000_000,
                        60_000_000_000, 300_000_000_000
                    ]
                ]
            ) as step_bins,
        from numbered
    )
),

busy as (
    select
        numbered.series_id,
        traffic.bin_start_ns // numbered.bin_ns - numbered.first_bin as bin,
        traffic.wire_bytes,
    from host_traffic as traffic
    inner join numbered using (run, host, direction)
    where bin between 0 and numbered.bins - 1
    union all
    select
        numbered.series_id,
        traffic.bin,
        traffic.wire_bytes,
    from wan_traffic as traffic
    inner join numbered using (run, from_site, to_site)
    where traffic.is_within
),

-- Long steps are summed from grains, the widest unit that divides all of them: there are fewer
-- grains than bins.
grains as (
    select
        busy.series_id,
        sizes.grain_bins,
        busy.bin // sizes.grain_bins as grain,
        sum(busy.wire_bytes)::bigint as wire_bytes,
    from busy
    inner join (
        select
            series_id,
            list_reduce(list(step_bins), lambda a, b: gcd(a, b)) as grain_bins,
        from series
        where step_bins > 1
        group by series_id
    ) as sizes using (series_id)
    group by busy.series_id, sizes.grain_bins, grain
),

steps as (
    select
        series_id,
        1 as step_bins,
        -- hosts of one run may have bins of several widths
        sum(wire_bytes)::bigint as step_bytes,
    from busy
    group by series_id, bin
    union all
    select
        series.series_id,
        series.step_bins,
        sum(grains.wire_bytes)::bigint as step_bytes,
    from grains
    inner join series using (series_id)
    where series.step_bins > 1
    group by
        series.series_id,
        series.step_bins,
        grains.grain * grains.grain_bins // series.step_bins
),

rates as (
    select
        steps.*,
        series.steps,
        steps.step_bytes * 8e9 / (steps.step_bins * series.bin_ns) as bit_s,
    from steps
    inner join series using (series_id, step_bins)
    where steps.step_bytes > 0
),

buckets as (
    select
        series_id,
        step_bins,
        steps,
        bucket_of(bit_s) as bucket,
        count(*) as steps_in,
        sum(step_bytes)::bigint as wire_bytes,
        max(bit_s) / 1e6 as max_mbit_s,
    from rates
    group by series_id, step_bins, steps, bucket
),

ordered as (
    select
        *,
        coalesce(
            sum(steps_in) over (
                partition by series_id, step_bins
                order by bucket desc
                rows between unbounded preceding and 1 preceding
            ),
            0
        ) as steps_above,
    from buckets
),

listed as (
    select
        series_id,
        step_bins,
        list(bucket order by bucket) as buckets,
        list(steps_in order by bucket) as steps_in,
        list(steps - steps_above order by bucket)::bigint[] as steps_up_to,
        list(max_mbit_s order by bucket) as tops_mbit_s,
        sum(steps_in)::bigint as busy_steps,
        sum(wire_bytes)::bigint as wire_bytes,
        max(max_mbit_s) as max_mbit_s,
        -- 0 where at most 1 % of the steps are busy
        if(
            sum(steps_in) > any_value(steps) * 0.01 + 1e-6,
            min(max_mbit_s) filter (steps_above <= steps * 0.01 + 1e-6),
            0
        ) as p99_mbit_s,
    from ordered
    group by series_id, step_bins
)

select
    series.run,
    series.host,
    series.from_site,
    series.to_site,
    series.direction,
    series.bin_ns,
    series.step_bins,
    series.is_longer,
    series.steps,
    series.step_bins * series.bin_ns
    < coalesce(own.shortest_ns, wide.shortest_ns, 0)
    or coalesce(own.is_borrowed, wide.is_borrowed, false) as is_short,
    coalesce(listed.buckets, []) as buckets,
    coalesce(listed.steps_in, []) as steps_in,
    coalesce(listed.steps_up_to, []) as steps_up_to,
    coalesce(listed.tops_mbit_s, []) as tops_mbit_s,
    coalesce(listed.busy_steps, 0) as busy_steps,
    coalesce(listed.wire_bytes, 0) as wire_bytes,
    coalesce(listed.max_mbit_s, 0) as max_mbit_s,
    coalesce(listed.p99_mbit_s, 0) as p99_mbit_s,
from series
left join listed using (series_id, step_bins)
left join shortest_bins as own
    on
        series.run = own.run
        and series.host = own.host
        and series.direction = own.way
left join wan_shortest as wide
    on
        series.run = wide.run
        and series.from_site = wide.from_site
        and series.to_site = wide.to_site
