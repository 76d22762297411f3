-- The share of the shown host's bins of 10 ms with less than 1 kbit/s, where the problem alone was
-- varied: one direction minus the other, and the larger problem minus the smaller.
with

silent as (
    select
        own.app,
        own.problem,
        own.direction,
        own.is_baseline,
        coalesce(max(own.share) filter (own.mbit_s < 0.001), 0) as share,
    from figure_throughput_cdf as own
    inner join points as base using (app)
    where
        base.is_baseline
        and own.app in ('nqueens', 'jigsaw', 'ssor', 'taskgraph')
        and own.bin_ms = 10
        and own.host in (select host from shown_hosts)
        and own.rtt_asked_ms is not distinct from base.rtt_asked_ms
        and own.rate_asked_mbit_s is not distinct from base.rate_asked_mbit_s
        and own.buffer_bytes is not distinct from base.buffer_bytes
    group by all
),

ways as (
    select
        app || ' ways' as key,
        avg(share) filter (direction = 'out')
        - avg(share) filter (direction = 'in') as ours,
    from silent
    inner join main_problems using (app, problem)
    where is_baseline
    group by app
),

times as (
    select
        app,
        problem,
        median(completion_s) as completion_s,
    from figure_totals
    group by app, problem
),

sized as (
    select
        silent.app,
        silent.problem,
        any_value(times.completion_s) as completion_s,
        avg(silent.share) as share,
    from silent
    inner join times using (app, problem)
    group by silent.app, silent.problem
),

sizes as (
    select
        app || ' sizes' as key,
        arg_max(share, completion_s) - arg_min(share, completion_s) as ours,
    from sized
    group by app
    having count(*) > 1
)

select
    key,
    ours,
from ways
union all
select
    key,
    ours,
from sizes
