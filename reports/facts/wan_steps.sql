-- One row per run: the bins that its time covers, a bin at either end that lies only partly
-- inside included, and the steps into which they are cut. A step is 100 ms of whole bins, or
-- one bin where bins are wider; the last one is as short as what is left. Rates are measured
-- over a window as wide as a step, wherever it begins: see wan_rates.
with

-- a capture of grade D is no sure source of traffic
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

inside as (
    select
        run,
        start_ns,
        bin_ns,
        coalesce(is_doubtful, false) as is_doubtful,
        start_ns // bin_ns as first_bin,
        (end_ns + bin_ns - 1) // bin_ns - start_ns // bin_ns as bins,
    from run_windows
    inner join widths using (run)
    left join grades using (run)
    where end_ns > start_ns
),

sized as (
    select
        *,
        least(greatest(100_000_000 // bin_ns, 1), bins) as step_bins,
    from inside
),

final as (
    select
        *,
        (bins + step_bins - 1) // step_bins as steps,
        step_bins * bin_ns as step_ns,
        bins * bin_ns as length_ns,
    from sized
)

select * from final
