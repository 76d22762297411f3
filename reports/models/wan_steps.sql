-- One row per run: the steps into which its time is cut for wide-area traffic. A step is
-- 100 ms of whole bins, or one bin where bins are wider or the run is shorter. Bins that
-- lie only partly inside, and what is left at the end, are in no step.
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
        (start_ns + bin_ns - 1) // bin_ns as first_bin,
        end_ns // bin_ns - (start_ns + bin_ns - 1) // bin_ns as bins,
    from run_windows
    inner join widths using (run)
    left join grades using (run)
),

sized as (
    select
        *,
        if(
            bins >= 100_000_000 // bin_ns,
            greatest(100_000_000 // bin_ns, 1),
            1
        ) as step_bins,
    from inside
),

final as (
    select
        *,
        bins // step_bins as steps,
        step_bins * bin_ns as step_ns,
    from sized
    where bins > 0
)

select * from final
