-- The completion time of model checking over one lightpath with the better limit of flushes, over
-- that with two lightpaths and no limit.
select
    'all' as key,
    min(completion_s) filter (starts_with(variant, 'flush') and links = 1)
    / median(completion_s) filter (variant is null and links = 2) as ours,
from figure_completion
where
    app = 'modelcheck'
    and placement is null
    and (problem, ranks, rtt_asked_ms, rate_asked_mbit_s) in (
        select (problem, ranks, rtt_asked_ms, rate_asked_mbit_s)
        from figure_completion
        where app = 'modelcheck' and is_baseline
    )
