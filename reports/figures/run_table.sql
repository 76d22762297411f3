-- One row per run, in the order in which they were made: its point as configured and as measured,
-- its completion time, and whether it counts.
with

final as (
    select
        runs.run,
        runs.app,
        runs.problem,
        runs.repetition,
        runs.block,
        runs.is_warmup,
        runs.is_baseline,
        runs.is_used,
        runs.is_valid
        and runs.is_alone
        and not runs.is_warmup as is_traffic_used,
        runs.status,
        runs.reason,
        runs.rtt_asked_ms,
        if(runs.is_rtt_measured, round(runs.rtt_ms, 4), null)
            as rtt_measured_ms,
        runs.rate_asked_mbit_s,
        if(runs.is_rate_measured, round(runs.rate_mbit_s, 4), null)
            as rate_measured_mbit_s,
        runs.queue_bytes,
        runs.buffer_bytes,
        runs.beside_app,
        round(runs.completion_s, 4) as completion_s,
        round(runs.completion_s / baselines.completion_s, 4) as slowdown,
        runs.compute,
        runs.start_ns,
    from runs
    left join baselines using (app, problem)
)

select * from final
order by start_ns nulls last, run
