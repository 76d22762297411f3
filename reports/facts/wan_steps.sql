-- One row per run: the bins that its time covers, partial ones at both ends included, and the steps
-- into which they are cut. A step is 100 ms of whole bins, or one bin where bins are wider; the
-- last one may be shorter. Where time stamps are coarser than a bin, every step is a multiple of
-- the bins of coarse_stamps. Rates are measured over a sliding window one step wide: see wan_rates.
with

-- Traffic from a capture of grade D is doubtful.
grades as (
    select
        run,
        max(grade_rank) = 4 as is_doubtful,
    from captures
    group by run
),

widths as (
    select
        run,
        max(bin_ns) as bin_ns,
    from stg_throughput
    group by run
),

coarse as (
    select
        run,
        max(bin_ns) as coarse_ns,
    from coarse_stamps
    group by run
),

inside as (
    select
        run,
        start_ns,
        bin_ns,
        coalesce(is_doubtful, false) as is_doubtful,
        start_ns // bin_ns as first_bin,
        (end_ns + bin_ns - 1) // bin_ns - first_bin as covered_bins,
        coalesce(coarse_ns // bin_ns, 1) as coarse_bins,
        (covered_bins + coarse_bins - 1) // coarse_bins * coarse_bins as bins,
    from run_windows
    inner join widths using (run)
    left join grades using (run)
    left join coarse using (run)
    where end_ns > start_ns
),

sized as (
    select
        * exclude (covered_bins, coarse_bins),
        greatest(100_000_000 // bin_ns // coarse_bins, 1) * coarse_bins
            as wanted_bins,
        least(wanted_bins, bins) as step_bins,
    from inside
),

final as (
    select
        * exclude (wanted_bins),
        (bins + step_bins - 1) // step_bins as steps,
        step_bins * bin_ns as step_ns,
        bins * bin_ns as length_ns,
    from sized
)

select * from final
