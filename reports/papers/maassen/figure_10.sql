-- The transfers to VU that begin first and last, one for each host there, over the median transfer
-- to it.
with

jobs as (
    select
        transfers.duration_s,
        row_number() over (
            partition by transfers.run order by transfers.start_s
        ) as place,
        row_number() over (
            partition by transfers.run order by transfers.start_s desc
        ) as place_from_end,
        count(distinct transfers.to_host) over (partition by transfers.run)
            as hosts,
    from transfers
    inner join runs using (run)
    where
        runs.is_used
        and runs.app = 'supernova'
        and transfers.to_site = 'vu'
        and runs.rate_asked_mbit_s = (
            select min(rate_asked_mbit_s)
            from points
            where app = 'supernova'
        )
)

select
    'all' as key,
    avg(duration_s) filter (place <= hosts) / median(duration_s) as ours,
from jobs
union all
select
    'end',
    avg(duration_s) filter (place_from_end <= hosts) / median(duration_s),
from jobs
