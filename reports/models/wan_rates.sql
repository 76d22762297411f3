-- Rates between places, over a window of a step that moves bin by bin, so that they do not
-- depend on where steps begin. One row per run, sum of directions and stretch of time for
-- which the rate stays the same, silent ones left out. Sums: one direction between two places,
-- all that a place sends (`to_site` is null), all that a place receives (`from_site` is null),
-- and all together (both are null).
with

summed as (
    select
        run,
        from_site,
        to_site,
        bin,
        sum(change) as change,
    from wan_changes
    group by grouping sets (
        (run, bin, from_site, to_site),
        (run, bin, from_site),
        (run, bin, to_site),
        (run, bin)
    )
),

stretches as (
    select
        summed.run,
        summed.from_site,
        summed.to_site,
        summed.bin,
        sum(summed.change) over one_sum as window_bytes,
        coalesce(lead(summed.bin) over one_sum, steps.bins)
        - summed.bin as bins,
        steps.bin_ns,
        steps.step_ns,
    from summed
    inner join wan_steps as steps using (run)
    window one_sum as (
        partition by summed.run, summed.from_site, summed.to_site
        order by summed.bin
    )
),

final as (
    select
        run,
        from_site,
        to_site,
        bin,
        bins * bin_ns as held_ns,
        window_bytes * 8e3 / step_ns as mbit_s,
    from stretches
    where window_bytes > 0
)

select * from final
