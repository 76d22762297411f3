-- One row per run and direction between two places whose captures have a row in `shortest_bins`:
-- the shortest time over which the rate is known. As in `wan_traffic`, these are the senders'
-- captures, or the receivers' where no sender was captured.
with

captured as (
    select distinct
        places.run,
        places.host,
        places.place,
    from places
    inner join stg_captures using (run, host)
),

final as (
    select
        directions.run,
        directions.from_site,
        directions.to_site,
        max(shortest.shortest_ns) as shortest_ns,
        bool_or(shortest.is_borrowed) as is_borrowed,
    from wan_directions as directions
    inner join captured
        on
            directions.run = captured.run
            and captured.place in (directions.from_site, directions.to_site)
    inner join shortest_bins as shortest
        on
            captured.run = shortest.run
            and captured.host = shortest.host
    where
        captured.place = directions.from_site and shortest.way = 'out'
        or captured.place = directions.to_site
        and shortest.way = 'in'
        and (directions.run, directions.from_site) not in (
            select (captured.run, captured.place) from captured
        )
    group by directions.run, directions.from_site, directions.to_site
)

select * from final
