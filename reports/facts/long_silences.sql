-- One row per run and silence of at least a minute that is at least as long as all that is left of
-- the run without such silences; at most the eight longest. They mean that a clock was set,
-- recordings were joined, or next to nothing happened; the many pauses of an on-off program are not
-- among them. No host has a packet in any bin between `begin_ns` and `end_ns`, nor a part of one
-- that is spread over the time before it.
with

spreads as (
    select
        run,
        max(shortest_ns) as spread_ns,
    from shortest_bins
    where largest_bytes is not null
    group by run
),

bins as (
    select distinct
        run,
        epoch_ns(bin_start) - coalesce(spread_ns, 0) as begin_ns,
        epoch_ns(bin_start) + bin_ns as end_ns,
    from stg_throughput
    left join spreads using (run)
),

pauses as (
    select
        run,
        end_ns as begin_ns,
        lead(begin_ns) over one_run as end_ns,
        max(end_ns) over whole_run - min(begin_ns) over whole_run as length_ns,
    from bins
    window
        one_run as (partition by run order by begin_ns, end_ns),
        whole_run as (partition by run)
),

ranked as (
    select
        *,
        end_ns - begin_ns as silence_ns,
        row_number() over longest_first as place,
        length_ns - sum(end_ns - begin_ns) over longest_first as rest_ns,
    from pauses
    where end_ns - begin_ns >= 60 * 1000000000::bigint
    window longest_first as (
        partition by run order by end_ns - begin_ns desc, begin_ns asc
        rows between unbounded preceding and current row
    )
),

-- The longest are cut, up to the last one that is at least as long as what is then left.
counted as (
    select
        run,
        max(place) as cuts,
    from ranked
    where silence_ns >= rest_ns and place <= 8
    group by run
)

select
    ranked.run,
    ranked.begin_ns,
    ranked.end_ns,
from ranked
inner join counted using (run)
where ranked.place <= counted.cuts
