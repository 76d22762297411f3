-- One row per application, problem, direction and pixel column of the shown host's throughput: the
-- maximum of the column's bins, and their mean with empty ones. Traffic before and after the time
-- of the run has a row each.
with

runs_shown as (
    select
        shown_runs.app,
        shown_runs.problem,
        shown_runs.run,
        peak_bins.* exclude (run, end_ns),
        runs.stands_alone,
    from shown_runs
    inner join peak_bins using (run)
    inner join runs using (run)
    inner join shown_hosts using (run, host)
    where peak_bins.bins > 0
),

-- In captures alone, long silences are cut out by whole bins.
cuts as (
    select
        runs_shown.run,
        runs_shown.direction,
        greatest(
            (silences.begin_ns - origin_ns + bin_ns - 1) // bin_ns - first_bin,
            0
        ) as from_bin,
        least((silences.end_ns - origin_ns) // bin_ns - first_bin, bins)
            as to_bin,
    from runs_shown
    inner join long_silences as silences using (run)
    inner join runs using (run)
    where runs.stands_alone and from_bin < to_bin
),

-- the stretches between cuts; without a cut, all of the time
stretches as (
    select
        run,
        direction,
        begin_bin,
        lead(cut_from_bin, 1, bins) over one_way as end_bin,
        cut_bins,
    from (
        select
            run,
            direction,
            bins,
            0 as begin_bin,
            0 as cut_from_bin,
            0 as cut_bins,
        from runs_shown
        union all
        select
            cuts.run,
            cuts.direction,
            runs_shown.bins,
            cuts.to_bin as begin_bin,
            cuts.from_bin as cut_from_bin,
            cuts.to_bin - cuts.from_bin as cut_bins,
        from cuts
        inner join runs_shown using (run, direction)
    )
    window one_way as (partition by run, direction order by begin_bin)
),

-- 400 columns: as many as the pixels of a figure of half width
chosen as (
    select
        runs_shown.*,
        stretches.* exclude (run, direction),
        stretches.end_bin - stretches.begin_bin as stretch_bins,
        least(
            stretch_bins,
            greatest(
                400
                * stretch_bins
                // sum(stretch_bins) over (partition by run, direction),
                1
            )
        )::bigint as columns,
    from runs_shown
    inner join stretches using (run, direction)
    where stretches.end_bin > stretches.begin_bin
),

grid as (
    select
        chosen.*,
        unnest(generate_series(0, columns - 1)) as column_number,
    from chosen
),

edges as (
    select
        * replace (
            -- the first bin of column c is the least b with b * columns // bins = c
            begin_bin
            + (column_number * stretch_bins + columns - 1) // columns
                as begin_bin,
            begin_bin
            + ((column_number + 1) * stretch_bins + columns - 1) // columns
                as end_bin,
            if(column_number = 0, cut_bins, 0) as cut_bins
        ),
        begin_bin as stretch,
        true as is_within,
    from grid
),

-- Each bin has the start of its first bin in the tables.
bins as (
    select
        runs_shown.run,
        runs_shown.direction,
        runs_shown.bins,
        floor_steps(
            traffic.bin_start_ns - runs_shown.origin_ns, runs_shown.bin_ns
        ) - runs_shown.first_bin as bin,
        bin between 0 and runs_shown.bins - 1 as is_within,
        sum(traffic.wire_bytes)::bigint as wire_bytes,
        sum(traffic.wire_bytes) * 8e3 / runs_shown.bin_ns as mbit_s,
        min(traffic.bin_start_ns) as bin_start_ns,
    from shown_host_traffic as traffic
    inner join runs_shown using (run, host, direction)
    group by
        runs_shown.run, runs_shown.direction, runs_shown.bins,
        runs_shown.bin_ns, runs_shown.origin_ns, runs_shown.first_bin, bin
),

placed as (
    select
        bins.* exclude (bins),
        chosen.begin_bin as stretch,
        (bins.bin - chosen.begin_bin) * chosen.columns // chosen.stretch_bins
            as column_number,
    from bins
    asof inner join chosen
        on
            bins.run = chosen.run
            and bins.direction = chosen.direction
            and bins.bin >= chosen.begin_bin
    where bins.is_within
    union all by name
    select
        bins.* exclude (bins),
        if(bins.bin < 0, -1, bins.bins) as stretch,
        0 as column_number,
    from bins
    where not bins.is_within
),

reduced as (
    select
        run,
        direction,
        stretch,
        column_number,
        is_within,
        min(bin) as first_busy_bin,
        max(bin) as last_busy_bin,
        max(mbit_s) as max_mbit_s,
        sum(wire_bytes)::bigint as wire_bytes,
        -- the first of equal bins
        arg_max(bin_start_ns, (mbit_s, -bin_start_ns)) as max_at_ns,
        count(*) as busy_bins,
    from placed
    group by run, direction, stretch, column_number, is_within
),

-- before: from the first packet; after: to the last one
outside as (
    select
        runs_shown.*,
        if(stretch < 0, first_busy_bin, runs_shown.bins) as begin_bin,
        if(stretch < 0, 0, last_busy_bin + 1) as end_bin,
        0 as cut_bins,
        reduced.stretch,
        reduced.column_number,
        false as is_within,
    from reduced
    inner join runs_shown using (run, direction)
    where not reduced.is_within
),

all_columns as (
    select * from edges
    union all by name
    select * from outside
),

-- A run has no mean if it is shorter than a bin, or if its few bins reach so far beyond its ends
-- that the mean over its own time exceeds the busiest bin. All bytes of a capture alone belong to
-- it, also those of a merged packet that are spread over the time before it.
means as (
    select
        run,
        direction,
        any_value(mean_over_ns)
        - sum(cut_bins) filter (is_within) * any_value(bin_ns) as kept_ns,
        sum(wire_bytes) filter (is_within or stands_alone) * 8e3
        / if(kept_ns > 0, kept_ns, null) as way_mbit_s,
        if(way_mbit_s <= max(max_mbit_s), way_mbit_s, null) as run_mean_mbit_s,
    from all_columns
    left join reduced
        using (run, direction, stretch, column_number, is_within)
    group by run, direction
),

final as (
    select
        app,
        problem,
        run,
        host,
        direction,
        round(
            (origin_ns + (first_bin + begin_bin) * bin_ns - start_ns) / 1e9, 6
        ) as start_s,
        round(
            (origin_ns + (first_bin + end_bin) * bin_ns - start_ns) / 1e9, 6
        ) as end_s,
        all_columns.is_within,
        end_bin - begin_bin as bins,
        coalesce(busy_bins, 0) as busy_bins,
        coalesce(wire_bytes, 0) as wire_bytes,
        coalesce(round(max_mbit_s, 4), 0) as max_mbit_s,
        round(
            coalesce(wire_bytes, 0) * 8e3 / ((end_bin - begin_bin) * bin_ns), 4
        ) as mean_mbit_s,
        round((max_at_ns - start_ns) / 1e9, 6) as max_at_s,
        round(means.run_mean_mbit_s, 7) as run_mean_mbit_s,
        bin_ns / 1e6 as bin_ms,
        cut_bins * bin_ns / 1e9 as cut_before_s,
        shortest_ns / 1e6 as shortest_ms,
        is_borrowed,
    from all_columns
    left join reduced
        using (run, direction, stretch, column_number, is_within)
    left join means using (run, direction)
)

select * from final
order by app, problem, direction, start_s
