-- The WAN throughput of model checking: its peak by the links, and the first of its phases.
with

peaks as (
    select
        median(peak_mbit_s) filter (links = 2)
        / median(peak_mbit_s) filter (is_baseline) as ours,
    from figure_peak_by_ranks
    inner join main_problems using (app, problem)
    where app = 'modelcheck'
),

phases as (
    select
        spans.end_s - spans.start_s as phase_s,
        row_number() over (
            partition by spans.run, spans.rank order by spans.start_s
        ) = 1 as is_first,
    from app_phases as spans
    inner join runs using (run)
    inner join main_problems using (app, problem)
    where runs.is_baseline and runs.is_used and runs.app = 'modelcheck'
)

select
    'peaks' as key,
    ours,
from peaks
union all
select
    'first',
    avg(phase_s) filter (is_first) / avg(phase_s) filter (not is_first),
from phases
