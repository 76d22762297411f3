-- One row per application, problem, direction and step of the distribution of the shown
-- host's throughput over time: the share of bins at or below a rate. Rate 0 is the
-- share of empty bins.
with

chosen as (
    select
        shown_runs.app,
        shown_runs.problem,
        shown_runs.run,
        windows.host,
        windows.bin_ns,
        windows.first_bin,
        windows.bins,
        directions.direction,
    from shown_runs
    inner join windows using (run)
    inner join shown_hosts using (run, host)
    cross join (select unnest(['in', 'out']) as direction) as directions
    where windows.bins > 0
),

busy as (
    select
        chosen.app,
        chosen.problem,
        chosen.run,
        chosen.host,
        chosen.direction,
        chosen.bin_ns,
        chosen.bins,
        traffic.mbit_s,
        row_number() over one_series as place,
        count(*) over (
            partition by chosen.run, chosen.direction
        ) as busy_bins,
    from chosen
    inner join shown_host_traffic as traffic using (run, host, direction)
    where
        traffic.bin_start_ns // chosen.bin_ns >= chosen.first_bin
        and traffic.bin_start_ns // chosen.bin_ns
        < chosen.first_bin + chosen.bins
    window one_series as (
        partition by chosen.run, chosen.direction
        order by traffic.mbit_s
    )
),

-- 120 quantiles of the busy bins, and the tail where 10 bins or more lie beyond
steps as (
    select
        *,
        -- place p is a quantile if a multiple of 1/120 ends in it
        floor(place * 120 / busy_bins) > floor((place - 1) * 120 / busy_bins)
            as is_quantile,
        list_contains(
            [
                ceil(busy_bins * (1 - pow(10, -k)))
                for k in [1, 2, 3, 4] if busy_bins * pow(10, -k) >= 10
            ],
            place
        ) as is_tail,
    from busy
),

empties as (
    select
        chosen.*,
        count(traffic.mbit_s) as busy_bins,
    from chosen
    left join shown_host_traffic as traffic
        on
            chosen.run = traffic.run
            and chosen.host = traffic.host
            and chosen.direction = traffic.direction
            and traffic.bin_start_ns // chosen.bin_ns >= chosen.first_bin
            and traffic.bin_start_ns // chosen.bin_ns
            < chosen.first_bin + chosen.bins
    group by all
),

final as (
    select
        app,
        problem,
        run,
        host,
        direction,
        0.0 as mbit_s,
        (bins - busy_bins) / bins as share,
        bins,
        bins - busy_bins as empty_bins,
        bin_ns / 1e6 as bin_ms,
    from empties
    union all by name
    select
        app,
        problem,
        run,
        host,
        direction,
        round(mbit_s, 6) as mbit_s,
        max(bins - busy_bins + place) / bins as share,
        bins,
        bins - busy_bins as empty_bins,
        bin_ns / 1e6 as bin_ms,
    from steps
    where is_quantile or is_tail
    group by app, problem, run, host, direction, mbit_s, bins, busy_bins, bin_ns
)

select * replace (round(share, 6) as share)
from final
order by app, problem, direction, mbit_s
