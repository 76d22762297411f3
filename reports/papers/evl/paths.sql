-- The two round-trip times, and the link of each; TeraGrid's own where its rate was swept.
with

reported as (
    select
        if(is_baseline, 'cavewave', 'teragrid') as path,
        median(rtt_ms) as rtt_ms,
        coalesce(
            min(rate_asked_mbit_s) filter (rtt_asked_ms = 56.2 and rate_asked_mbit_s = 96),
            median(rate_asked_mbit_s)
        ) as rate_mbit_s,
    from points
    where (is_baseline or rtt_asked_ms = 56.2) and coalesce(loss, 0) = 0
    group by path
)

select
    path || ' rtt' as key,
    rtt_ms as ours,
from reported
union all
select
    path || ' link',
    rate_mbit_s / 1e3,
from reported
