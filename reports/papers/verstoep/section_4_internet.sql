-- The completion time of Awari with the slowest link, divided by that with the baseline's.
select
    'all' as key,
    arg_min(completion_s, rate_asked_mbit_s)
    / max(completion_s) filter (is_baseline) as ours,
from figure_completion
where app = 'awari' and axis = 'rate' and variant is null and placement is null
having min(rate_asked_mbit_s) < max(rate_asked_mbit_s) filter (is_baseline)
