-- One row per application, problem, point, host and direction (or direction between two sites), and
-- width of a window: the peak, the 99 % quantile and the mean of the throughput that a monitor with
-- such windows shows for the same traffic.
with

seen as (
    select
        pool_runs.point,
        pool_runs.alone,
        throughput.run,
        coalesce(host_roles.role, throughput.host) as host,
        throughput.from_site,
        throughput.to_site,
        throughput.direction,
        throughput.step_bins * throughput.bin_ns as width_ns,
        throughput.is_longer,
        throughput.max_mbit_s,
        throughput.wire_bytes * 8e3 / (throughput.steps * width_ns)
            as mean_mbit_s,
        throughput.p99_mbit_s,
    from throughput_histogram as throughput
    inner join pool_runs using (run)
    left join host_roles using (run, host)
    where
        -- The rate over shorter times is unknown.
        not throughput.is_short
        and width_ns in (
            throughput.bin_ns,
            10_000_000 // throughput.bin_ns * throughput.bin_ns,
            1_000_000_000 // throughput.bin_ns * throughput.bin_ns,
            60_000_000_000 // throughput.bin_ns * throughput.bin_ns,
            300_000_000_000 // throughput.bin_ns * throughput.bin_ns
        )
),

pooled as (
    select
        point,
        if(count(*) = 1, any_value(run), null) as run,
        host,
        from_site,
        to_site,
        direction,
        width_ns / 1e6 as window_ms,
        count(*) as runs,
        count(*) filter (is_longer) as shorter_runs,
        median(max_mbit_s) as peak_mbit_s,
        min(max_mbit_s) as peak_mbit_s_min,
        max(max_mbit_s) as peak_mbit_s_max,
        median(p99_mbit_s) as p99_mbit_s,
        median(mean_mbit_s) as mean_mbit_s,
    from seen
    group by
        point, alone, host, from_site, to_site, direction, width_ns
),

final as (
    select
        *,
        peak_mbit_s / nullif(
            first(peak_mbit_s) over (
                partition by point, run, host, from_site, to_site, direction
                order by window_ms
            ),
            0
        ) as peak_share,
    from pooled
)

select
    points.*,
    final.* exclude (point) replace (
        round(peak_share, 6) as peak_share
    ),
from printed_points as points
inner join final using (point)
order by
    app, problem, is_baseline desc, point, run, host, from_site, to_site,
    direction, window_ms
