-- One row per outcome and point of this experiment and of the one that it is compared with.
select
    against,
    side,
    differs,
    outcome,
    better,
    rounded(ratio) as ratio,
    rounded(low) as ratio_low,
    rounded(high) as ratio_high,
    noise,
    noise_reason,
    rounded("value") as "value",
    rounded(other_value) as other_value,
    rounded(completion_s) as completion_s,
    rounded(other_s) as other_s,
    runs_used,
    other_runs,
    other_point,
    label,
    * exclude (
        against, side, differs, outcome, better, ratio, low, high, noise, noise_reason, "value",
        other_value, completion_s, other_s, runs_used, other_runs, other_point, label
    ),
from against_points
order by app, problem, outcome != 'completion_time', outcome, side, point, other_point
