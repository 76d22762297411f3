-- One row per run, direction between two places, and column of the time, as in `wan_grid`, in which
-- something was sent. What was sent before the time of the run is in column -1, what was sent after
-- it behind the last column.
with

placed as (
    select
        traffic.run,
        traffic.from_site,
        traffic.to_site,
        traffic.bin,
        traffic.wire_bytes,
        traffic.is_within,
        steps.bin_ns,
        steps.steps,
        traffic.bin // steps.step_bins as step,
        -- the last step may be shorter
        steps.bin_ns
        * least(steps.step_bins, steps.bins - step * steps.step_bins)
            as width_ns,
    from wan_traffic as traffic
    inner join wan_steps as steps using (run)
),

numbered as (
    select
        placed.*,
        grid.column_number,
    from placed
    asof inner join wan_grid as grid
        on placed.run = grid.run and placed.step >= grid.begin_step
    where placed.is_within
    union all by name
    select
        *,
        if(bin < 0, -1, steps) as column_number,
    from placed
    where not is_within
),

in_steps as (
    select
        run,
        from_site,
        to_site,
        is_within,
        column_number,
        step,
        sum(wire_bytes) * 8e3 / any_value(width_ns) as mbit_s,
        sum(wire_bytes) as wire_bytes,
        min(bin) as first_bin,
        max(bin) as last_bin,
    from numbered
    group by run, from_site, to_site, is_within, column_number, step
)

select
    run,
    from_site,
    to_site,
    is_within,
    column_number,
    max(mbit_s) filter (is_within) as max_mbit_s,
    sum(wire_bytes)::bigint as wire_bytes,
    min(first_bin) as first_packet_bin,
    max(last_bin) as last_packet_bin,
from in_steps
group by run, from_site, to_site, is_within, column_number
