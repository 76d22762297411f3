-- The supernova farm: its jobs, and what a faster link saves.
with

jobs as (
    select
        transfers.*,
        runs.is_baseline,
        runs.rate_asked_mbit_s,
        min(runs.rate_asked_mbit_s) over () as slowest_mbit_s,
        percent_rank() over (
            partition by transfers.run order by transfers.start_s
        ) as place,
    from transfers
    inner join runs using (run)
    where runs.is_used and runs.app = 'supernova'
),

searched as (
    select avg(spans.end_s - spans.start_s) as job_s
    from app_phases as spans
    inner join runs using (run)
    where
        runs.is_used
        and runs.is_baseline
        and runs.app = 'supernova'
        and spans.phase = 'search'
),

times as (
    select
        median(completion_s) filter (is_baseline) as lightpath_s,
        arg_min(completion_s, rate_asked_mbit_s) as internet_s,
    from figure_totals
    where app = 'supernova'
),

-- The transfers between the first and the last quarter, over the slow link.
middle as (
    select median(duration_s) as middle_s
    from jobs
    where
        rate_asked_mbit_s = slowest_mbit_s
        and to_site = 'vu'
        and place between 0.25 and 0.75
)

select
    'size' as key,
    avg(bytes) filter (is_baseline) / 1e6 as ours,
from jobs
union all
select
    'time',
    job_s,
from searched
union all
select
    'speedup',
    1 - lightpath_s / internet_s,
from times
union all
select
    'worst',
    max(duration_s) filter (rate_asked_mbit_s = slowest_mbit_s),
from jobs
union all
select
    'middle',
    middle_s,
from middle
union all
select
    'added',
    middle.middle_s / searched.job_s,
from middle
cross join searched
union all
select
    'small',
    max(duration_s) filter (
        rate_asked_mbit_s = slowest_mbit_s and to_site = 'lu'
    ),
from jobs
