-- One row per application, problem, point, host and direction (or direction between two sites),
-- width of the bins, and step of the distribution of throughput over time: the share of bins at or
-- below a rate. Rate 0 is the share of empty bins.
with

placed as (
    select
        *,
        min(bin_ns) over (
            partition by point, alone, host, from_site, to_site, direction
        ) as least_ns,
        min(mbit_s) filter (share >= 0.99) over one_series as p99_mbit_s,
        min(mbit_s) filter (share >= 0.999) over one_series as p999_mbit_s,
        min(mbit_s) filter (share >= 0.9999) over one_series as p9999_mbit_s,
    from throughput_steps
    window one_series as (
        partition by point, alone, host, from_site, to_site, direction, bin_ns
    )
)

select
    points.*,
    placed.run,
    placed.host,
    placed.from_site,
    placed.to_site,
    placed.direction,
    placed.bin_ns / 1e6 as bin_ms,
    placed.mbit_s,
    placed.share,
    placed.share_low,
    placed.share_high,
    placed.runs,
    placed.bins,
    placed.empty_bins,
    -- a quantile is stated if at least one bin lies beyond it
    if(placed.bins >= 100, p99_mbit_s, null) as p99_mbit_s,
    if(placed.bins >= 1000, p999_mbit_s, null) as p999_mbit_s,
    if(placed.bins >= 10000, p9999_mbit_s, null) as p9999_mbit_s,
from printed_points as points
inner join placed using (point)
-- The table has bins of 10 ms, 100 ms and 1 s, or only the narrowest ones where these are wider.
where placed.bin_ns <= greatest(1_000_000_000, placed.least_ns)
order by
    app, problem, is_baseline desc, point, run, bin_ms, host, from_site, to_site,
    direction, mbit_s
