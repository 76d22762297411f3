-- One row per valid run, direction between two sites and pixel column of the time: what
-- was sent over the wide-area link; with mean, quantiles and peak over the whole run.
with

chosen as (
    select
        summaries.*,
        steps.start_ns,
        steps.bin_ns,
        steps.first_bin,
        steps.step_bins,
        least(steps.steps, 200) as columns,
    from wan_summaries as summaries
    inner join wan_steps as steps using (run)
    where summaries.from_site is not null and summaries.to_site is not null
),

grid as (
    select
        *,
        unnest(generate_series(0, columns - 1)) as column_number,
    from chosen
),

edges as (
    select
        *,
        -- the first step of column c is the least s with s * columns // steps = c
        (column_number * steps + columns - 1) // columns as begin_step,
        ((column_number + 1) * steps + columns - 1) // columns as end_step,
    from grid
),

reduced as (
    select
        series.run,
        series.from_site,
        series.to_site,
        series.step * chosen.columns // chosen.steps as column_number,
        max(series.mbit_s) as max_mbit_s,
        sum(series.wire_bytes) as wire_bytes,
    from wan_series as series
    inner join chosen using (run, from_site, to_site)
    group by all
),

final as (
    select
        points.app,
        points.problem,
        edges.run,
        points.is_baseline,
        round(points.rtt_ms, 4) as rtt_ms,
        round(points.rate_mbit_s, 4) as rate_mbit_s,
        points.links,
        edges.from_site,
        edges.to_site,
        round(
            (
                (first_bin + begin_step * step_bins) * edges.bin_ns
                - edges.start_ns
            ) / 1e9,
            6
        ) as start_s,
        round(
            (
                (first_bin + end_step * step_bins) * edges.bin_ns
                - edges.start_ns
            ) / 1e9,
            6
        ) as end_s,
        coalesce(round(max_mbit_s, 4), 0) as max_mbit_s,
        round(
            coalesce(reduced.wire_bytes, 0) * 8e3
            / ((end_step - begin_step) * edges.step_ns),
            4
        ) as mean_mbit_s,
        end_step - begin_step as steps,
        edges.step_ns / 1e6 as step_ms,
        round(edges.mean_mbit_s, 4) as run_mean_mbit_s,
        round(edges.p50_mbit_s, 4) as run_p50_mbit_s,
        round(edges.p95_mbit_s, 4) as run_p95_mbit_s,
        round(edges.p99_mbit_s, 4) as run_p99_mbit_s,
        round(edges.peak_mbit_s, 4) as run_peak_mbit_s,
        edges.is_far_side,
        edges.is_doubtful,
    from edges
    inner join points using (run)
    left join reduced using (run, from_site, to_site, column_number)
)

select * from final
order by app, problem, is_baseline desc, run, from_site, to_site, start_s
