-- One row per run, direction between two places, and column of the time (see `wan_grid`) in which
-- something was sent. Traffic before the run is in column -1, traffic after it in a column past the
-- last one.
with

sent as not materialized (
    select
        traffic.run,
        traffic.from_site,
        traffic.to_site,
        traffic.bin,
        traffic.wire_bytes,
        traffic.is_within,
        steps.steps,
        traffic.bin // steps.step_bins as step,
    from wan_traffic as traffic
    inner join wan_steps as steps using (run)
),

-- Sums steps first, because looking up the column of every bin would take longer.
sent_in_steps as (
    select
        run,
        from_site,
        to_site,
        step,
        sum(wire_bytes) as wire_bytes,
        min(bin) as first_bin,
        max(bin) as last_bin,
    from sent
    where is_within
    group by run, from_site, to_site, step
),

numbered as (
    select
        sent_in_steps.*,
        true as is_within,
        grid.column_number,
        -- the last step may be shorter
        sent_in_steps.wire_bytes
        * 8e3
        / (
            steps.bin_ns
            * least(
                steps.step_bins,
                steps.bins - sent_in_steps.step * steps.step_bins
            )
        ) as mbit_s,
    from sent_in_steps
    inner join wan_steps as steps using (run)
    asof inner join wan_grid as grid
        on
            sent_in_steps.run = grid.run
            and sent_in_steps.step >= grid.begin_step
    union all by name
    select
        run,
        from_site,
        to_site,
        is_within,
        if(bin < 0, -1, steps) as column_number,
        wire_bytes,
        bin as first_bin,
        bin as last_bin,
    from sent
    where not is_within
)

select
    run,
    from_site,
    to_site,
    is_within,
    column_number,
    max(mbit_s) as max_mbit_s,
    sum(wire_bytes)::bigint as wire_bytes,
    min(first_bin) as first_packet_bin,
    max(last_bin) as last_packet_bin,
from numbered
group by run, from_site, to_site, is_within, column_number
