-- One row per application, problem, outcome, socket buffer, axis and slowdown: the RTT (ms) or
-- rate (Mbit/s) at which the median slowdown crosses 1.1 and 1.5.
with

final as (
    select
        app,
        problem,
        outcome,
        better,
        buffer_bytes,
        axis,
        if(axis = 'rtt', 'ms', 'Mbit/s') as unit,
        level,
        if(level < 1.3, 'gradual', 'severe') as deterioration,
        state,
        round(estimate, 4) as estimate,
        round(low, 4) as low,
        round(high, 4) as high,
        reason,
        ---------- the tried points on both sides of the estimate
        round(easier, 4) as easier,
        round(harder, 4) as harder,
        ---------- the paper's own definition: the first point at the level
        round(first_reached, 4) as first_reached,
        ---------- the range that was tried, mildest to hardest
        round(mildest, 4) as mildest,
        round(hardest, 4) as hardest,
        round(first_slowdown, 4) as first_slowdown,
        round(largest_slowdown, 4) as largest_slowdown,
        runs_beside,
        threshold_estimates.runs_used,
        ---------- what the interval rests on
        noise,
        round(spread, 5) as spread,
        noise_reason,
        -- A percentage with one decimal is printed: fewer decimals here would round twice.
        round(drift, 9) as drift,
        round(drift_low, 9) as drift_low,
        round(drift_high, 9) as drift_high,
        rounded(drift_p) as drift_p,
        place,
    from threshold_estimates
    inner join outcome_baselines using (app, problem, outcome)
)

select * exclude (place) from final
order by app, problem, place, buffer_bytes nulls last, axis desc, level
