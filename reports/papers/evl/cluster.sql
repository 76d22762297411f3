-- The hosts at each site, and the transfer of the map: streams, files and time of a run at the
-- baseline.
with

sent as (
    select
        count(distinct transfers.to_rank) as streams,
        count(*) as files,
        max(transfers.end_s) - min(transfers.start_s) as span_s,
    from transfers
    inner join runs using (run)
    inner join points using (point)
    where
        runs.is_used
        and runs.app = 'lambda'
        and points.is_baseline
        and transfers.source = 'application'
        and json_extract(runs.parameters, '$.files') is not null
    group by transfers.run
    order by transfers.run
    limit 1
)

select
    concat('hosts ', if(site = 'sandiego', 'san diego', site)) as key,
    count(distinct host) as ours,
from hosts
where site in ('chicago', 'sandiego')
group by site
union all
select
    'streams',
    streams,
from sent
union all
select
    'files',
    files,
from sent
union all
select
    'minutes',
    span_s / 60,
from sent
