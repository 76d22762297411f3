-- One row per application, problem, direction and pixel column of the shown host's
-- throughput: the maximum of the column's bins, and their mean with empty ones. What it sent
-- and received before and after the time of the run has a row each.
with

-- 400 columns: a figure of half width has as many pixels
chosen as (
    select
        shown_runs.app,
        shown_runs.problem,
        shown_runs.run,
        windows.host,
        windows.start_ns,
        windows.bin_ns,
        windows.first_bin,
        windows.bins,
        least(windows.bins, 400) as columns,
    from shown_runs
    inner join windows using (run)
    inner join shown_hosts using (run, host)
    where windows.bins > 0
),

grid as (
    select
        chosen.*,
        numbers.column_number,
        directions.direction,
    from chosen
    cross join (
        select unnest(generate_series(0, 399)) as column_number
    ) as numbers
    cross join (select unnest(['in', 'out']) as direction) as directions
    where numbers.column_number < chosen.columns
),

edges as (
    select
        *,
        -- the first bin of column c is the least b with b * columns // bins = c
        (column_number * bins + columns - 1) // columns as begin_bin,
        ((column_number + 1) * bins + columns - 1) // columns as end_bin,
    from grid
),

placed as (
    select
        chosen.run,
        traffic.direction,
        traffic.bin_start_ns // chosen.bin_ns - chosen.first_bin as bin,
        bin between 0 and chosen.bins - 1 as is_within,
        case
            when bin < 0 then -1
            when is_within then bin * chosen.columns // chosen.bins
            else chosen.columns
        end as column_number,
        traffic.mbit_s,
        traffic.wire_bytes,
        traffic.bin_start_ns,
    from shown_host_traffic as traffic
    inner join chosen using (run, host)
),

reduced as (
    select
        run,
        direction,
        column_number,
        is_within,
        min(bin) as first_busy_bin,
        max(bin) as last_busy_bin,
        max(mbit_s) as max_mbit_s,
        sum(wire_bytes)::bigint as wire_bytes,
        -- of equal bins the first
        arg_max(bin_start_ns, (mbit_s, -bin_start_ns)) as max_at_ns,
        count(*) as busy_bins,
    from placed
    group by run, direction, column_number, is_within
),

-- before: from the first packet; after: to the last one
outside as (
    select
        chosen.*,
        reduced.direction,
        if(column_number < 0, first_busy_bin, chosen.bins) as begin_bin,
        if(column_number < 0, 0, last_busy_bin + 1) as end_bin,
        reduced.column_number,
    from reduced
    inner join chosen using (run)
    where not reduced.is_within
),

all_columns as (
    select * from edges
    union all by name
    select * from outside
),

final as (
    select
        app,
        problem,
        run,
        host,
        direction,
        round(
            ((first_bin + begin_bin) * bin_ns - start_ns) / 1e9, 6
        ) as start_s,
        round(((first_bin + end_bin) * bin_ns - start_ns) / 1e9, 6) as end_s,
        column_number between 0 and columns - 1 as is_within,
        end_bin - begin_bin as bins,
        coalesce(busy_bins, 0) as busy_bins,
        coalesce(wire_bytes, 0) as wire_bytes,
        coalesce(round(max_mbit_s, 4), 0) as max_mbit_s,
        round(
            coalesce(wire_bytes, 0) * 8e3 / ((end_bin - begin_bin) * bin_ns), 4
        ) as mean_mbit_s,
        round((max_at_ns - start_ns) / 1e9, 6) as max_at_s,
        bin_ns / 1e6 as bin_ms,
    from all_columns
    left join reduced using (run, direction, column_number)
)

select * from final
order by app, problem, direction, start_s
