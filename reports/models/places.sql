-- One row per run and host: its place. Traffic between places is wide-area traffic. A place is a
-- site; without sites every host is a place. With one site only there is no wide-area traffic.
with

sites as (
    select
        run,
        count(site) as sited_hosts,
        count(distinct site) as sites,
    from hosts
    group by run
),

final as (
    select
        hosts.run,
        hosts.host,
        coalesce(hosts.site, hosts.host) as place,
        sites.sites >= 2 as has_sites,
        sites.sited_hosts = 0 or sites.sites >= 2 as has_wan,
    from hosts
    inner join sites using (run)
)

select * from final
