-- Completion time at the largest RTT, over that without latency and between socket buffers.
with

far as (
    select *
    from figure_completion_by_rtt
    where rtt_asked_ms = (select max(rtt_asked_ms) from figure_completion_by_rtt)
)

select
    far.app as key,
    median(far.slowdown) as ours,
from far
inner join main_problems as main
    on far.app = main.app and far.problem = main.problem
inner join points as base
    on
        far.app = base.app
        and far.problem = base.problem
        and far.buffer_bytes is not distinct from base.buffer_bytes
where base.is_baseline
group by far.app
union all
select
    app || ' buffer',
    arg_min(completion_s, buffer_bytes) / arg_max(completion_s, buffer_bytes),
from far
where app in ('ssor', 'taskgraph')
group by app
having count(distinct buffer_bytes) > 1
