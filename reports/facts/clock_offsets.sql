-- One row per run and host: how far its clock is ahead of another host's, from the SYNs, and their
-- answers, of connections that both captured. A packet arrives after it was sent, so one direction
-- gives an upper bound and the other a lower one; all connections together leave the bracket from
-- `low_ns` to `high_ns`. `shift_ns` is subtracted from the host's times: 0 unless the whole bracket
-- is more than a second from the clock that most hosts of the run share.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,
        null::bigint as connection,
        null::varchar as direction,
        null::varchar as protocol,
        null::varchar as src_ip,
        null::integer as src_port,
        null::varchar as dst_ip,
        null::integer as dst_port,
        null::varchar as start,
        null::timestamptz_ns as first_time
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_flows
),

-- Reused ports are left out: which connection a SYN belongs to is not known.
opened as (
    select
        forth.run,
        forth.host,
        forth.src_ip,
        forth.src_port,
        forth.dst_ip,
        forth.dst_port,
        any_value(epoch_ns(forth.first_time)) as forth_ns,
        any_value(epoch_ns(back.first_time)) as back_ns,
    from filled as forth
    inner join filled as back
        on
            forth.run = back.run
            and forth.host = back.host
            and forth.connection = back.connection
    where
        forth.direction = 'forward'
        -- Sums and differences of times within 73 years of 1970 (2^61 ns) do not overflow.
        and abs(epoch_ns(forth.first_time)) < 2305843009213693952
        and abs(epoch_ns(back.first_time)) < 2305843009213693952
        and back.direction = 'backward'
        and forth.protocol = 'tcp'
        and forth.start = 'syn'
    group by all
    having count(*) = 1
),

-- the bounds of how far the clock of `host` is ahead of that of `beside`
offsets as (
    select
        here.run,
        here.host as beside,
        there.host,
        least(
            there.forth_ns - here.forth_ns, there.back_ns - here.back_ns
        ) as low_ns,
        greatest(
            there.forth_ns - here.forth_ns, there.back_ns - here.back_ns
        ) as high_ns,
    from opened as here
    inner join opened as there
        using (run, src_ip, src_port, dst_ip, dst_port)
    where here.host <> there.host
),

-- Where no offset fits all connections, as after a clock was set, the bounds cross and are swapped.
pairs as (
    select
        run,
        beside,
        host,
        least(max(low_ns), min(high_ns)) as low_ns,
        greatest(max(low_ns), min(high_ns)) as high_ns,
        count(*) as connections,
    from offsets
    group by run, beside, host
),

-- the host that has connections with the most other hosts
centres as (
    select
        run,
        beside
    from pairs
    group by run, beside
    qualify
        row_number() over (
            partition by run order by count(*) desc, beside asc
        ) = 1
),

direct as (
    select pairs.*
    from pairs
    inner join centres using (run, beside)
),

-- hosts that have connections with other hosts, but none with the centre
indirect as (
    select
        direct.run,
        direct.beside,
        pairs.host,
        direct.low_ns + pairs.low_ns as low_ns,
        direct.high_ns + pairs.high_ns as high_ns,
        least(direct.connections, pairs.connections) as connections,
    from direct
    inner join pairs
        on direct.run = pairs.run and direct.host = pairs.beside
    where
        pairs.host <> direct.beside
        and (pairs.run, pairs.host) not in (select (run, host) from direct)
    qualify
        row_number() over (
            partition by direct.run, pairs.host
            order by
                direct.high_ns + pairs.high_ns - direct.low_ns - pairs.low_ns,
                direct.host
        ) = 1
),

found as (
    select * from direct
    union all by name
    select * from indirect
    union all by name
    select
        run,
        beside,
        beside as host,
        0 as low_ns,
        0 as high_ns,
        0 as connections,
    from centres
),

middles as (
    select
        *,
        (low_ns + high_ns) // 2 as offset_ns,
        count(*) over (
            partition by run
            order by (low_ns + high_ns) // 2
            range between 1000000000 preceding and 1000000000 following
        ) as sharing,
    from found
),

origins as (
    select
        run,
        arg_max(offset_ns, (sharing, host = beside, -abs(offset_ns)))
            as origin_ns,
    from middles
    group by run
),

final as (
    select
        run,
        host,
        beside,
        connections,
        offset_ns,
        low_ns,
        high_ns,
        case
            when
                low_ns - origin_ns > 1000000000
                or high_ns - origin_ns < -1000000000
                then offset_ns - origin_ns
            else 0
        end as shift_ns,
    from middles
    inner join origins using (run)
)

select * from final
