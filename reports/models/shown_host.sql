-- One row: the host whose traffic is drawn. The first host of the second site, as the
-- paper's PC3; with one site only, the host with most traffic.
with

sites as (
    select
        run,
        site,
        min(position) as position,
    from hosts
    where site is not null
    group by run, site
),

second_sites as (
    select
        run,
        site,
        row_number() over (partition by run order by position) as place,
    from sites
),

remote as (
    select
        hosts.host,
        count(*) as runs,
        min(hosts.position) as position,
    from hosts
    inner join second_sites using (run, site)
    where place = 2
    group by hosts.host
),

busiest as (
    select
        host,
        sum(wire_bytes) as wire_bytes,
    from host_traffic
    group by host
),

candidates as (
    select
        host,
        1 as choice,
        position::double as place,
        'the first host of the second site' as because,
    from remote
    union all
    select
        host,
        2 as choice,
        -wire_bytes::double as place,
        'the host with most traffic' as because,
    from busiest
),

final as (
    select
        host,
        because,
    from candidates
    order by choice, place, host
    limit 1
)

select * from final
