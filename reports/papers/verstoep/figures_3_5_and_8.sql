-- What a rank of Awari sends at the baseline, to all others and to those of other sites.
with

sent as (
    select
        runs.run,
        runs.completion_s,
        sum(flows.wire_bytes) as bytes,
        sum(flows.wire_bytes) filter (flows.is_between_sites) as wan_bytes,
    from flows
    inner join runs using (run)
    inner join main_problems using (app, problem)
    where
        runs.is_baseline
        and runs.is_used
        and runs.app = 'awari'
        and flows.is_counted
    group by runs.run, runs.completion_s
),

counted as (
    select median(ranks) as ranks
    from points
    inner join main_problems using (app, problem)
    where app = 'awari' and is_baseline
)

select
    'core' as key,
    median(sent.bytes / sent.completion_s / counted.ranks) / 1e6 as ours,
from sent
cross join counted
union all
select
    'share',
    median(wan_bytes / bytes),
from sent
