-- Content of the transfers, without loss and with the baseline's link, by path and by where it
-- comes from and goes to.
with

sent as (
    select
        streams.run,
        runs.app,
        runs.problem,
        if(points.rtt_asked_ms = 56.2, 'teragrid', 'cavewave') as path,
        sum(streams.mbit_s) as mbit_s,
    from app_streams as streams
    inner join runs using (run)
    inner join points on runs.point = points.point
    where
        runs.is_used
        and runs.app in ('lambda', 'udp')
        and coalesce(points.loss, 0) = 0
        and points.rtt_asked_ms in (78.3, 56.2)
        and not contains(runs.problem, 'start_mbit_s 20')
        and points.rate_asked_mbit_s = (
            select max(rate_asked_mbit_s) from points
        )
    group by all
),

named as (
    select
        path,
        case
            when app = 'udp' then 'iperf_udp'
            when contains(problem, 'both_ways true') then 'bidirectional'
            when contains(problem, 'target disk') then 'disk_to_disk'
            when contains(problem, 'source disk') then 'disk_to_memory'
            else 'memory_to_memory'
        end as way,
        mbit_s,
    from sent
)

select
    concat_ws(' ', path, way) as key,
    median(mbit_s) / 1e3 as ours,
from named
group by path, way
