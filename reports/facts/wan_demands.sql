-- One row per run, pair of places and stretch of time for which the demand between them stays
-- the same: the rate, as in `wan_rates`, of the busier direction at that moment, because a
-- link carries its rate both ways at once. Silent stretches are left out.
with

changes as (
    select
        run,
        least(from_site, to_site) as site_a,
        greatest(from_site, to_site) as site_b,
        bin,
        coalesce(sum(change) filter (from_site < to_site), 0) as there,
        coalesce(sum(change) filter (from_site > to_site), 0) as back,
    from wan_changes
    group by all
),

stretches as (
    select
        changes.run,
        changes.site_a,
        changes.site_b,
        greatest(sum(there) over one_pair, sum(back) over one_pair)
            as window_bytes,
        coalesce(lead(changes.bin) over one_pair, steps.bins)
        - changes.bin as bins,
        steps.bin_ns,
        steps.step_ns,
    from changes
    inner join wan_steps as steps using (run)
    window one_pair as (
        partition by changes.run, changes.site_a, changes.site_b
        order by changes.bin
    )
),

final as (
    select
        run,
        site_a,
        site_b,
        bins * bin_ns as held_ns,
        window_bytes * 8e3 / step_ns as mbit_s,
    from stretches
    where window_bytes > 0
)

select * from final
