-- One row per application, problem, outcome, axis other than RTT and rate that has a mild end, and
-- slowdown: the tried values between which the median slowdown crosses 1.1 and 1.5.
select
    app,
    problem,
    outcome,
    better,
    axis,
    axis_threshold_estimates.unit,
    level,
    state,
    rounded(easier) as easier,
    rounded(harder) as harder,
    rounded(estimate) as estimate,
    rounded(low) as low,
    rounded(high) as high,
    reason,
    rounded(mildest) as mildest,
    rounded(hardest) as hardest,
    rounded(largest_slowdown) as largest_slowdown,
    runs_beside,
    axis_threshold_estimates.runs_used,
    noise,
    rounded(spread) as spread,
    noise_reason,
from axis_threshold_estimates
inner join outcome_baselines using (app, problem, outcome)
order by app, problem, place, axis, axis_threshold_estimates.unit, level
