-- The testbed at the baseline.
select
    'rtt' as key,
    median(rtt_ms) as ours,
from points
where is_baseline
union all
select
    'rate',
    median(rate_asked_mbit_s) / 1e3,
from points
where is_baseline
union all
select
    'hosts',
    count(distinct host),
from hosts
