-- What ranks of the model checker send at the baseline: the share that leaves their site, and how
-- much each sends per second.
with

sent as (
    select
        runs.run,
        any_value(runs.completion_s) as completion_s,
        any_value(points.ranks) as ranks,
        sum(flows.wire_bytes) as bytes,
        sum(flows.wire_bytes) filter (flows.is_between_sites) as wan_bytes,
    from flows
    inner join runs using (run)
    inner join points using (point)
    inner join main_problems
        on
            points.app = main_problems.app
            and points.problem = main_problems.problem
    where
        runs.app = 'modelcheck'
        and runs.is_baseline
        and runs.is_used
        and flows.is_counted
    group by runs.run
)

select
    'wan' as key,
    median(wan_bytes / bytes) as ours,
from sent
having count(*) > 0
union all
select
    'rank',
    median(bytes / completion_s / ranks) / 1e6,
from sent
having count(*) > 0
