-- One row per run, direction between two places and bin at which the octets of the window
-- change that ends there: the window is as wide as a step and moves bin by bin over the time
-- of the run, so that octets enter it at their bin and leave it a step later.
with

moved as (
    select
        traffic.run,
        traffic.from_site,
        traffic.to_site,
        unnest([traffic.bin, traffic.bin + steps.step_bins]) as bin,
        unnest([traffic.wire_bytes, -traffic.wire_bytes]) as change,
        steps.bins as end_bin,
    from wan_traffic as traffic
    inner join wan_steps as steps using (run)
    where traffic.is_within
),

final as (
    select
        run,
        from_site,
        to_site,
        bin,
        sum(change)::bigint as change,
    from moved
    where bin < end_bin
    group by run, from_site, to_site, bin
)

select * from final
