-- One row per run: the host whose traffic is drawn. It is the first host of the second site, like
-- the paper's PC3; with one site only, the host with the most traffic over all runs. Runs may have
-- different hosts: the first captured one in this order is used.
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
        min(hosts.position) as position,
    from hosts
    inner join second_sites using (run, site)
    where place = 2
    group by hosts.host
),

-- A folder of tables may lack throughput or flows.
seen as (
    select
        run,
        host,
        wire_bytes,
    from host_totals
    union all
    select
        run,
        host,
        wire_bytes,
    from flows
    where is_at_sender or is_at_receiver
),

traffic as (
    select
        run,
        host,
        sum(wire_bytes) as wire_bytes,
    from seen
    group by run, host
),

busiest as (
    select
        host,
        sum(wire_bytes) as wire_bytes,
    from traffic
    group by host
),

candidates as (
    select
        traffic.run,
        traffic.host,
        if(
            remote.host is null,
            'the host with most traffic',
            'the first host of the second site'
        ) as because,
        row_number() over (
            partition by traffic.run
            order by
                remote.position nulls last,
                busiest.wire_bytes desc,
                traffic.host asc
        ) as place,
    from traffic
    inner join busiest using (host)
    left join remote using (host)
),

final as (
    select * exclude (place)
    from candidates
    where place = 1
)

select * from final
