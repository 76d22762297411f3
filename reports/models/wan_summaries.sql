-- One row per run and sum of `wan_series`: mean, quantiles and peak over all steps of the
-- run, silent ones included. The quantile q of n steps is the one of rank ceil(q n).
with

gathered as (
    select
        series.run,
        series.from_site,
        series.to_site,
        any_value(steps.steps) as steps,
        any_value(steps.step_ns) as step_ns,
        count(*) as busy_steps,
        sum(series.wire_bytes)::bigint as wire_bytes,
        bool_or(series.is_far_side) as is_far_side,
        any_value(steps.is_doubtful) as is_doubtful,
        list(series.mbit_s order by series.mbit_s desc) as rates,
    from wan_series as series
    inner join wan_steps as steps using (run)
    group by series.run, series.from_site, series.to_site
),

final as (
    select
        * exclude (rates),
        wire_bytes * 8e3 / (steps * step_ns) as mean_mbit_s,
        rate_at(rates, steps, 0.5) as p50_mbit_s,
        rate_at(rates, steps, 0.95) as p95_mbit_s,
        rate_at(rates, steps, 0.99) as p99_mbit_s,
        rates[1] as peak_mbit_s,
    from gathered
)

select * from final
