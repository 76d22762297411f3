-- One row per valid run, direction between two sites and column of the time: what was sent over the
-- wide-area link; with mean, quantiles and peak over the whole run. What was sent before and after
-- the time of the run has a row each, so that the bytes of all rows add up to those of the
-- captures.
with

chosen as (
    select
        summaries.* exclude (wire_bytes, all_bytes),
        steps.start_ns,
        steps.bin_ns,
        steps.first_bin,
        steps.bins,
        steps.step_bins,
        steps.steps,
        runs.stands_alone,
    from wan_summaries as summaries
    inner join wan_steps as steps using (run)
    inner join runs using (run)
    where summaries.from_site is not null and summaries.to_site is not null
),

edges as (
    select
        chosen.*,
        grid.* exclude (run),
        grid.begin_step * chosen.step_bins as begin_bin,
        least(grid.end_step * chosen.step_bins, chosen.bins) as end_bin,
        -- In captures alone, a long silence is cut out if something follows it.
        grid.is_silence and chosen.stands_alone and grid.end_step < chosen.steps
            as is_cut,
        if(is_cut, end_bin - begin_bin, 0) as silent_bins,
    from chosen
    inner join wan_grid as grid using (run)
),

cut as (
    select
        *,
        coalesce(
            lag(silent_bins) over (
                partition by run, from_site, to_site order by column_number
            ),
            0
        ) as cut_bins,
    from edges
    qualify not is_cut
),

within as (
    select
        cut.*,
        end_step - begin_step as column_steps,
        reduced.max_mbit_s,
        coalesce(reduced.wire_bytes, 0) as column_bytes,
        true as is_within,
    from cut
    left join wan_columns as reduced using (run, from_site, to_site, column_number)
),

-- before: from the first packet; after: to the last one
outside as (
    select
        chosen.*,
        if(sent.column_number < 0, sent.first_packet_bin, chosen.bins) as begin_bin,
        if(sent.column_number < 0, 0, sent.last_packet_bin + 1) as end_bin,
        0 as cut_bins,
        0 as column_steps,
        null::double as max_mbit_s,
        sent.wire_bytes as column_bytes,
        false as is_within,
    from wan_columns as sent
    inner join chosen using (run, from_site, to_site)
    where not sent.is_within
),

columns as (
    select * from within
    union all by name
    select * from outside
),

final as (
    select
        points.app,
        points.problem,
        columns.run,
        points.is_baseline,
        round(points.rtt_ms, 4) as rtt_ms,
        round(points.rate_mbit_s, 4) as rate_mbit_s,
        points.links,
        columns.from_site,
        columns.to_site,
        round(
            ((first_bin + begin_bin) * bin_ns - start_ns) / 1e9, 6
        ) as start_s,
        round(((first_bin + end_bin) * bin_ns - start_ns) / 1e9, 6) as end_s,
        columns.is_within,
        columns.column_bytes as wire_bytes,
        if(is_within, coalesce(round(max_mbit_s, 4), 0), null) as max_mbit_s,
        round(column_bytes * 8e3 / ((end_bin - begin_bin) * bin_ns), 4)
            as mean_mbit_s,
        column_steps as steps,
        step_ns / 1e6 as step_ms,
        cut_bins * bin_ns / 1e9 as cut_before_s,
        round(columns.mean_mbit_s, 4) as run_mean_mbit_s,
        round(columns.p50_mbit_s, 4) as run_p50_mbit_s,
        round(columns.p95_mbit_s, 4) as run_p95_mbit_s,
        round(columns.p99_mbit_s, 4) as run_p99_mbit_s,
        round(columns.peak_mbit_s, 4) as run_peak_mbit_s,
        columns.is_far_side,
        columns.is_doubtful,
        wan_shortest.shortest_ns / 1e6 as shortest_ms,
    from columns
    inner join point_runs using (run)
    inner join points using (point)
    left join wan_shortest using (run, from_site, to_site)
)

select * from final
order by app, problem, is_baseline desc, run, from_site, to_site, start_s
