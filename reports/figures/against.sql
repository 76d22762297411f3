-- One row per point of this experiment and of the one that it is compared with.
select
    against,
    side,
    differs,
    rounded(ratio) as ratio,
    rounded(low) as ratio_low,
    rounded(high) as ratio_high,
    noise,
    noise_reason,
    rounded(completion_s) as completion_s,
    rounded(other_s) as other_s,
    runs_used,
    other_runs,
    other_point,
    label,
    * exclude (
        against, side, differs, ratio, low, high, noise, noise_reason, completion_s, other_s,
        runs_used, other_runs, other_point, label
    ),
from against_points
order by app, problem, side, point, other_point
