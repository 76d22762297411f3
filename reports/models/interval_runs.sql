-- One row per run whose gaps between packets are counted, with the RTT of its row: the runs on
-- the line over the RTT; without such a line the runs at the baseline, and the one that is drawn.
with

swept as (
    select
        app,
        problem,
        run,
        x_asked as rtt_asked_ms,
    from sweep_runs
    where axis = 'rtt' and is_used and has_baseline_buffer
),

fixed as (
    select
        app,
        problem,
        run,
        rtt_asked_ms,
    from runs
    where
        (app, problem) not in (
            select (app, problem)
            from sweep_runs
            where axis = 'rtt' and has_baseline_buffer
        )
        and (
            run in (
                select run from runs
                where is_valid and not is_warmup and is_baseline
            )
            or run in (select run from shown_runs)
        )
),

final as (
    select * from swept
    union
    select * from fixed
)

select * from final
