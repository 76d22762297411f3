-- One row per run and address of a host: whose it is, and where that host is.
select
    hosts.run,
    hosts.host,
    hosts.site,
    places.place,
    places.has_sites,
    places.has_wan,
    unnest(hosts.addresses) as address,
from hosts
inner join places using (run, host)
