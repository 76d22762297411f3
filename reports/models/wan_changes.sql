-- One row per direction (see `wan_directions`) and bin at which the bytes in a sliding window
-- change. The window ends at that bin, is one step wide and moves bin by bin over the time of the
-- run: bytes enter it at their bin and leave it a step later.
with

moved as (
    select
        directions.direction_id,
        unnest([traffic.bin, traffic.bin + steps.step_bins]) as bin,
        unnest([traffic.wire_bytes, -traffic.wire_bytes]) as change,
        steps.bins as end_bin,
    from wan_traffic as traffic
    inner join wan_directions as directions using (run, from_site, to_site)
    inner join wan_steps as steps using (run)
    where traffic.is_within
),

final as (
    select
        direction_id,
        bin,
        sum(change)::bigint as change,
    from moved
    where bin < end_bin
    group by direction_id, bin
)

select * from final
