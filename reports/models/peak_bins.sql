-- One row per run, host and direction in its own capture: the bins from which a peak may be taken,
-- and the run's time in them, as in `windows`. They are the bins of the tables or, where
-- `shortest_bins` has a row, as many of these together as the shortest time needs. They are aligned
-- with the table bin in which the run begins: bin 0 begins at `origin_ns`, the run in `first_bin`.
with

sized as (
    select
        windows.run,
        windows.host,
        ways.direction,
        windows.start_ns,
        windows.end_ns,
        windows.bins * windows.bin_ns as length_ns,
        shortest.shortest_ns,
        coalesce(shortest.is_borrowed, false) as is_borrowed,
        windows.first_bin * windows.bin_ns as begin_ns,
        windows.bin_ns * greatest(
            (coalesce(shortest.shortest_ns, 0) + windows.bin_ns - 1)
            // windows.bin_ns,
            1
        ) as bin_ns,
    from windows
    cross join (select unnest(['in', 'out']) as direction) as ways
    left join shortest_bins as shortest
        on
            windows.run = shortest.run
            and windows.host = shortest.host
            and ways.direction = shortest.way
)

select
    * exclude (begin_ns),
    begin_ns % bin_ns as origin_ns,
    begin_ns // bin_ns as first_bin,
    greatest((end_ns - begin_ns + bin_ns - 1) // bin_ns, 0) as bins,
from sized
