-- The supernova farm: where its jobs are done, and how long the smallest cluster waits for them.
with

jobs as (
    select
        transfers.to_site,
        transfers.duration_s,
        runs.is_baseline,
        runs.rate_asked_mbit_s = min(runs.rate_asked_mbit_s) over ()
            as is_slowest,
    from transfers
    inner join runs using (run)
    where runs.is_used and runs.app = 'supernova' and runs.links = 1
),

by_link as (
    select
        avg((to_site != 'vu')::integer) filter (is_slowest and not is_baseline)
        / avg((to_site != 'vu')::integer) filter (is_baseline) as moved,
        median(duration_s) filter (
            is_slowest and not is_baseline and to_site = 'lu'
        )
        / median(duration_s) filter (
            is_slowest and not is_baseline and to_site = 'vu'
        ) as smallest,
    from jobs
)

select
    key,
    ours,
from (unpivot by_link on moved, smallest into name key value ours)
