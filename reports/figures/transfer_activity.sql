-- One row per valid run, place and pixel column of the time: how many transfers were under
-- way to a site (role 'receiving') and from a host (role 'sending').
with

placed as (
    select
        run,
        source,
        unnest(['receiving', 'sending']) as role,
        unnest([to_site, from_host]) as place,
        length_s,
        begin_s,
        end_s,
    from transfer_spans
),

places_with as (
    select
        run,
        role,
        place,
        any_value(source) as source,
        any_value(length_s) as length_s,
        count(*) as transfers,
    from placed
    group by run, role, place
),

changes as (
    select
        run,
        role,
        place,
        moment,
        sum(change) as change,
    from (
        select
            run,
            role,
            place,
            unnest([begin_s, end_s]) as moment,
            unnest([1, -1]) as change,
        from placed
        where end_s > begin_s
    ) as ends
    group by run, role, place, moment
),

-- between two changes the number stays the same
pieces as (
    select
        run,
        role,
        place,
        moment as begin_s,
        lead(moment) over one_place as end_s,
        sum(change) over one_place as active,
    from changes
    window one_place as (partition by run, role, place order by moment)
),

grid as (
    select
        *,
        unnest(generate_series(0, 99)) as column_number,
        column_number * length_s / 100 as start_s,
        (column_number + 1) * length_s / 100 as end_s,
    from places_with
),

counted as (
    select
        grid.run,
        grid.role,
        grid.place,
        grid.column_number,
        max(pieces.active)::bigint as max_active,
        sum(
            pieces.active
            * (
                least(pieces.end_s, grid.end_s)
                - greatest(pieces.begin_s, grid.start_s)
            )
        ) as active_s,
    from grid
    inner join pieces
        on
            grid.run = pieces.run
            and grid.role = pieces.role
            and grid.place = pieces.place
            and grid.end_s > pieces.begin_s
            and grid.start_s < pieces.end_s
    where pieces.active > 0
    group by grid.run, grid.role, grid.place, grid.column_number
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
        grid.source,
        grid.role,
        grid.place,
        round(grid.start_s, 6) as start_s,
        round(grid.end_s, 6) as end_s,
        coalesce(counted.max_active, 0) as max_active,
        coalesce(
            round(counted.active_s / (grid.end_s - grid.start_s), 4), 0
        ) as mean_active,
        grid.transfers,
    from grid
    inner join point_runs using (run)
    inner join points using (point)
    left join counted using (run, role, place, column_number)
)

select * from final
order by app, problem, is_baseline desc, run, role, place, start_s
