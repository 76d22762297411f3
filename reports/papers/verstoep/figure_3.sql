-- What a host of Awari sends per second while one of its ranks is in a busy phase, over what it
-- sends otherwise: with all optimisations, on the grid. Where hosts have several ranks, a bin is
-- weighted by the share of ranks that are busy.
with

counted as (
    select
        runs.run,
        run_windows.start_ns,
        run_windows.length_s,
    from runs
    inner join main_problems using (app, problem)
    inner join run_windows using (run)
    where runs.app = 'awari' and runs.is_baseline and runs.is_used
),

spans as (
    select
        app_phases.run,
        app_ranks.host,
        counted.length_s,
        counted.start_ns + round(app_phases.start_s * 1e9)::bigint as start_ns,
        counted.start_ns + round(app_phases.end_s * 1e9)::bigint as end_ns,
        count(distinct app_phases.rank) over (
            partition by app_phases.run, app_ranks.host
        ) as ranks,
    from app_phases
    inner join counted using (run)
    inner join app_ranks using (run, "rank")
    where app_phases.phase = 'busy'
),

bins as (
    select
        throughput.run,
        throughput.host,
        epoch_ns(throughput.bin_start) as start_ns,
        throughput.bin_ns,
        sum(throughput.wire_bytes) as bytes,
    from stg_throughput as throughput
    inner join counted using (run)
    inner join host_addresses
        on
            throughput.run = host_addresses.run
            and throughput.host = host_addresses.host
            and throughput.src_ip = host_addresses.address
    where
        epoch_ns(throughput.bin_start) >= counted.start_ns
        and epoch_ns(throughput.bin_start)
        < counted.start_ns + counted.length_s * 1e9
    group by all
),

totals as (
    select
        run,
        host,
        sum(bytes) as bytes,
    from bins
    group by run, host
),

times as (
    select
        run,
        host,
        any_value(length_s) as length_s,
        sum(end_ns - start_ns) / 1e9 / any_value(ranks) as busy_s,
    from spans
    group by run, host
),

within as (
    select
        bins.run,
        bins.host,
        sum(
            bins.bytes
            * (
                least(bins.start_ns + bins.bin_ns, spans.end_ns)
                - greatest(bins.start_ns, spans.start_ns)
            )
            / bins.bin_ns
            / spans.ranks
        ) as bytes,
    from bins
    inner join spans
        on
            bins.run = spans.run
            and bins.host = spans.host
            and bins.start_ns < spans.end_ns
            and bins.start_ns + bins.bin_ns > spans.start_ns
    group by bins.run, bins.host
),

by_host as (
    select
        within.bytes / times.busy_s
        / nullif(
            (totals.bytes - within.bytes) / (times.length_s - times.busy_s), 0
        ) as ratio,
    from within
    inner join totals using (run, host)
    inner join times using (run, host)
    where times.busy_s > 0 and times.length_s > times.busy_s
)

select
    'all' as key,
    median(ratio) as ours,
from by_host
having count(*) > 0
