-- One row per run and address of a host: the host, and its place.
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
