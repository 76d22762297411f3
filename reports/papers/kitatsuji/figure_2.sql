-- The throughput of the shown host over the time of the run that is drawn.
with

ends as (
    select
        app,
        max(end_s) as end_s,
    from figure_throughput_series
    inner join main_problems using (app, problem)
    where is_within
    group by app
),

late as (
    select
        app,
        sum(wire_bytes) filter (start_s >= 0.75 * end_s) / sum(wire_bytes) as ours,
    from (
        select
            series.app,
            series.start_s,
            series.wire_bytes,
            ends.end_s,
        from figure_throughput_series as series
        inner join ends using (app)
        inner join main_problems using (app, problem)
        where series.is_within and series.direction = 'out'
    )
    group by app
),

-- the shown host's bins at the baseline, both ways alike
empty as (
    select
        app,
        bin_ms,
        avg(empty_bins / bins) as ours,
    from (
        select distinct
            app,
            direction,
            bin_ms,
            bins,
            empty_bins,
        from figure_throughput_cdf
        inner join main_problems using (app, problem)
        where is_baseline and host in (select host from shown_hosts)
    )
    group by app, bin_ms
)

select
    app as key,
    ours,
from late
where app = 'nqueens'
union all
select
    app,
    1 - ours,
from empty
where app = 'jigsaw' and bin_ms = 100
union all
select
    app,
    ours,
from empty
where app in ('ssor', 'taskgraph') and bin_ms = 10
