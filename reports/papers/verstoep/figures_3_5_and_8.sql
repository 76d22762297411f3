-- What a rank of Awari sends on the grid, to all others and to those of other sites, without the
-- five optimisations (as figure 5) and with them (figure 8).
with

sent as (
    select
        runs.run,
        if(points.variant is null, 'with', 'without') as version,
        points.ranks,
        runs.completion_s,
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
        runs.is_used
        and runs.app = 'awari'
        and flows.is_counted
        and points.placement is null
        and (points.is_baseline or points.variant = 'none')
        and (points.rtt_asked_ms, points.rate_asked_mbit_s) in (
            select (base.rtt_asked_ms, base.rate_asked_mbit_s)
            from points as base
            where base.app = 'awari' and base.is_baseline
        )
    group by all
),

by_version as (
    select
        version,
        median(bytes / completion_s / ranks) / 1e6 as mb_s,
        median(wan_bytes / bytes) as share,
    from sent
    group by version
)

select
    'core' as key,
    mb_s as ours,
from by_version
where version = 'without'
union all
select
    'share',
    share,
from by_version
where version = 'without'
union all
select
    'core optimised',
    mb_s,
from by_version
where version = 'with'
