-- One row per run and host: the name under which it is combined with hosts of the point's other
-- runs: its own if all of these runs have the same hosts; else its site and its number there,
-- because a cluster may give each run other nodes.
with

named as (
    select
        pool_runs.point,
        pool_runs.alone,
        hosts.run,
        hosts.host,
        hosts.site,
        hosts.position,
        list(hosts.host order by hosts.host) over (partition by hosts.run)
            as hosts_there,
    from hosts
    inner join pool_runs using (run)
),

compared as (
    select
        *,
        min(hosts_there) over one_pool = max(hosts_there) over one_pool
            as is_same_hosts,
        row_number() over (partition by run, site order by position) as number,
    from named
    window one_pool as (partition by point, alone)
)

select
    run,
    host,
    if(is_same_hosts, host, coalesce(site, 'host') || ' ' || number) as role,
from compared
