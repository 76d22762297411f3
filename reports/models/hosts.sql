-- One row per run and host: its site and its address in the experiment network.
-- Where run.json does not name the hosts, the address is a guess from the capture:
-- the one that most packets carry, of those that a host may have.
with

named as (
    select
        run,
        unnest(hosts, recursive := true),
        generate_subscripts(hosts, 1) as position,
    from stg_runs
),

known as (
    select
        run,
        "name" as host,
        site,
        address,
        position,
        false as is_guessed,
    from named
    where address is not null
),

seen as (
    select
        run,
        host,
        unnest([src_ip, dst_ip]) as address,
        unnest([true, false]) as is_source,
        packets,
        [dst_ip, src_ip] as peers,
    from stg_flows
    where run not in (select run from known)
),

ranked as (
    select
        run,
        host,
        address,
        row_number() over (
            partition by run, host
            order by
                is_host_address(address, bool_or(is_source)) desc,
                sum(packets) desc,
                count(*) desc,
                address asc
        ) as place,
    from seen
    where address is not null
    group by run, host, address
),

guessed as (
    select
        run,
        host,
        null::varchar as site,
        address,
        row_number() over (partition by run order by host) as position,
        true as is_guessed,
    from ranked
    where place = 1
),

final as (
    select * from known
    union all by name
    select * from guessed
)

select * from final
