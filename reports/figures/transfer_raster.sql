-- One row per valid run, receiving rank and hundredth of the run's time: how many transfers were
-- under way to the rank.
with

placed as (
    select
        run,
        to_site as site,
        to_host as host,
        to_rank as rank,
        length_s,
        begin_s,
        end_s,
    from transfer_spans
    where to_rank is not null
),

ranks as (
    select
        run,
        site,
        host,
        rank,
        any_value(length_s) as length_s,
        count(*) as transfers,
    from placed
    group by run, site, host, rank
),

grid as (
    select
        *,
        unnest(generate_series(0, 99)) as column_number,
        column_number * length_s / 100 as start_s,
        (column_number + 1) * length_s / 100 as end_s,
    from ranks
),

counted as (
    select
        grid.run,
        grid.rank,
        grid.column_number,
        sum(
            least(placed.end_s, grid.end_s)
            - greatest(placed.begin_s, grid.start_s)
        ) as active_s,
    from grid
    inner join placed
        on
            grid.run = placed.run
            and grid.rank = placed.rank
            and grid.end_s > placed.begin_s
            and grid.start_s < placed.end_s
    group by grid.run, grid.rank, grid.column_number
),

final as (
    select
        points.app,
        points.problem,
        grid.run,
        points.is_baseline,
        round(points.rtt_ms, 4) as rtt_ms,
        round(points.rate_mbit_s, 4) as rate_mbit_s,
        points.links,
        grid.site,
        grid.host,
        grid.rank,
        round(grid.start_s, 6) as start_s,
        round(grid.end_s, 6) as end_s,
        coalesce(
            round(counted.active_s / (grid.end_s - grid.start_s), 4), 0
        ) as mean_active,
        grid.transfers,
    from grid
    inner join point_runs using (run)
    inner join points using (point)
    left join counted using (run, rank, column_number)
)

select * from final
order by app, problem, is_baseline desc, run, site, rank, start_s
