-- The flows of the shown host in the run that is drawn, by size and duration.
with

own as (
    select
        runs.app,
        runs.completion_s,
        flows.payload_bytes,
        flows.duration_ns / 1e9 as duration_s,
    from flows
    inner join shown_runs using (run)
    inner join shown_hosts using (run)
    inner join runs using (run)
    inner join main_problems
        on runs.app = main_problems.app and runs.problem = main_problems.problem
    where
        flows.is_counted
        and flows.payload_bytes > 0
        and shown_hosts.host in (flows.sender, flows.receiver)
),

queens as (
    select
        count(*) as flows,
        sum(if(duration_s > 0.9 * completion_s, payload_bytes, 0))
        / sum(payload_bytes) as long_share,
        count(*) filter (duration_s < 0.01) as short_flows,
        count(*) filter (
            duration_s between 5 and 20 and duration_s < 0.9 * completion_s
        ) as flows_of_seconds,
    from own
    where app = 'nqueens'
),

tasks as (
    select
        count(*) as flows,
        count(distinct floor(log10(payload_bytes))) as decades,
        max(duration_s) / min(duration_s) filter (duration_s > 0) as spread,
    from own
    where app = 'taskgraph'
)

select
    'fewer' as key,
    nullif(tasks.flows, 0) / nullif(queens.flows, 0) as ours,
from tasks
cross join queens
union all
select
    'long',
    long_share,
from queens
union all
select
    'sizes',
    nullif(decades, 0),
from tasks
union all
select
    'durations',
    spread,
from tasks
union all
select
    'short',
    short_flows,
from queens
where flows > 0
union all
select
    'seconds',
    flows_of_seconds,
from queens
where flows > 0
