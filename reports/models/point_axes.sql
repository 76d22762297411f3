-- One row per point of the sweep, without its label. Medians are over its valid runs without
-- warm-ups; over all of its runs where it has none of these.
with

marked as (
    select
        *,
        is_valid and not is_warmup as is_counted,
        bool_or(is_valid and not is_warmup) over (partition by point) as has_counted,
    from runs
),

measured as (
    select
        app,
        problem,
        point,
        min(run) as any_run,
        bool_or(is_baseline) as is_baseline,
        median(rtt_ms) as rtt_ms,
        -- the measured rate, if every run has one
        coalesce(
            if(bool_and(is_rate_measured), median(rate_mbit_s), null),
            any_value(rate_asked_mbit_s),
            median(rate_mbit_s)
        ) as rate_mbit_s,
    from marked
    where is_counted or not has_counted
    group by app, problem, point
),

final as (
    select
        measured.app,
        measured.problem,
        measured.point,
        measured.is_baseline,
        run_axes.* exclude (
            run,
            is_rtt_measured,
            is_rate_measured,
            has_axes,
            other_axes,
            hardness
        ) replace (
            measured.rtt_ms as rtt_ms,
            measured.rate_mbit_s as rate_mbit_s
        ),
    from measured
    inner join run_axes on measured.any_run = run_axes.run
)

select * from final
