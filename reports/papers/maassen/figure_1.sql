-- The configured links: the slowest rate of one, the baseline's, and two together. Films have the
-- rate that is left of a slow link.
select
    'internet' as key,
    if(
        min(rate_asked_mbit_s) < max(rate_asked_mbit_s),
        min(rate_asked_mbit_s) / 1e3,
        null
    ) as ours,
from points
where not starts_with(app, 'video')
union all
select
    'lightpath',
    median(rate_asked_mbit_s) / 1e3,
from points
where is_baseline
union all
select
    'both',
    max(rate_asked_mbit_s * links) / 1e3,
from points
where links > 1
