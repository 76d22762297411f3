-- One row per run, host and direction in its own capture: the bins from which a peak may be taken,
-- and the run's time in them, as in `windows`. They are the bins of the tables or, where
-- `shortest_bins` has a row, as many of these together as the shortest time needs. They are aligned
-- with the table bin in which the run begins: bin 0 begins at `origin_ns`, the run in `first_bin`.
-- `mean_over_ns`: the time over which a mean is taken, which these bins may exceed.
with

sized as (
    select
        windows.run,
        windows.host,
        ways.direction,
        windows.start_ns,
        windows.end_ns,
        windows.bins * windows.bin_ns as length_ns,
        runs.stands_alone,
        coarse_stamps.resolution_ns,
        shortest.shortest_ns,
        coalesce(shortest.is_borrowed, false) as is_borrowed,
        windows.first_bin * windows.bin_ns as begin_ns,
        windows.bin_ns * greatest(
            (coalesce(shortest.shortest_ns, 0) + windows.bin_ns - 1)
            // windows.bin_ns,
            1
        ) as bin_ns,
    from windows
    inner join runs using (run)
    left join coarse_stamps using (run, host)
    cross join (select unnest(['in', 'out']) as direction) as ways
    left join shortest_bins as shortest
        on
            windows.run = shortest.run
            and windows.host = shortest.host
            and ways.direction = shortest.way
)

select
    * exclude (begin_ns, stands_alone, resolution_ns),
    begin_ns % bin_ns as origin_ns,
    begin_ns // bin_ns as first_bin,
    greatest((end_ns - begin_ns + bin_ns - 1) // bin_ns, 0) as bins,
    -- Captures alone last from the first packet to the last. A time shorter than a bin has no mean
    -- rate, and a packet with a coarse stamp passed before the next stamp.
    case
        when not stands_alone then length_ns
        when end_ns - start_ns >= bin_ns
            then end_ns - start_ns + coalesce(resolution_ns, 0)
    end as mean_over_ns,
from sized
