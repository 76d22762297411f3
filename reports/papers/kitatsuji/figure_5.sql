-- Completion time at the largest RTT, over that without latency and between the paper's socket
-- buffers.
with

bases as (
    select
        app,
        any_value(problem) as problem,
        any_value(rate_asked_mbit_s) as rate_mbit_s,
        any_value(rtt_asked_ms) as rtt_ms,
    from figure_run_table
    where is_baseline and is_used
    group by app
),

timed as (
    select
        runs.app,
        runs.buffer_bytes / 1024 as buffer_kb,
        runs.rtt_asked_ms,
        runs.rtt_asked_ms = bases.rtt_ms as is_near,
        median(runs.completion_s) as completion_s,
    from figure_run_table as runs
    inner join bases
        on
            runs.app = bases.app
            and runs.problem = bases.problem
            and runs.rate_asked_mbit_s = bases.rate_mbit_s
    where runs.is_used and runs.beside_app is null
    group by all
),

grown as (
    select
        app,
        buffer_kb,
        arg_max(completion_s, rtt_asked_ms) as far_s,
        far_s / max(completion_s) filter (is_near) as slowdown,
    from timed
    group by app, buffer_kb
    having count(*) > 1
)

select
    app as key,
    slowdown as ours,
from grown
where
    (app, buffer_kb) in (
        ('nqueens', 16), ('jigsaw', 16), ('ssor', 1024), ('taskgraph', 256)
    )
union all
select
    app || ' buffer',
    max(far_s) filter (
        buffer_kb = case app when 'taskgraph' then 64 else 128 end
    )
    / max(far_s) filter (
        buffer_kb
        = case app
            when 'taskgraph' then 256
            when 'ssor' then 1024
            when 'nqueens' then 16
        end
    ),
from grown
where app in ('ssor', 'taskgraph', 'nqueens')
group by app
