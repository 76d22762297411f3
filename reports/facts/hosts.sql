-- One row per run and host: its site and its address in the experiment network.
-- Where run.json does not name addresses, each is a guess from the host's capture: the one
-- that most packets carry, of those that sent any and that a host may have. Of two that carry as
-- many it is the one whose segments wait longer for their acknowledgements: the other end answers
-- from afar. Where no time shows it, it is one of a private network, or else the one that opened
-- more connections: captures are made at the client more often than at the server.
-- No two hosts of a run have one address: the better guess keeps it, the other host gets its
-- best that nobody else has guessed, or none.
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

-- both ends of each direction; `is_near`: beside the capture, by the round-trip times
ends as (
    select
        there.run,
        there.host,
        unnest([there.src_ip, there.dst_ip]) as address,
        unnest([coalesce(there.packets > 0, true), false]) as is_source,
        unnest([there.direction = 'forward', false]) as is_opener,
        there.packets,
        unnest(
            [
                there.rtt_min_ns > 4 * back.rtt_min_ns,
                back.rtt_min_ns > 4 * there.rtt_min_ns,
            ]
        ) as is_near,
    from stg_flows as there
    left join stg_flows as back
        on
            there.run = back.run
            and there.host = back.host
            and there.connection = back.connection
            and there.direction <> back.direction
    where there.run not in (select run from known)
),

candidates as (
    select
        run,
        host,
        address,
        (
            is_host_address(address, bool_or(is_source)),
            sum(packets),
            count(*) filter (is_near),
            is_private_address(address),
            count(*) filter (is_opener),
            count(*)
        ) as score,
    from ends
    where address is not null
    group by run, host, address
    having bool_or(is_source)
),

choices as (
    select
        *,
        row_number() over (
            partition by run, host order by score desc, address asc
        ) as choice,
    from candidates
),

-- the first choices: each address to the host for which it is the best guess
firsts as (
    select
        run,
        host,
        address,
    from choices
    where choice = 1
    qualify
        row_number() over (
            partition by run, address order by score desc, host asc
        ) = 1
),

-- hosts that lost theirs: the best that is nobody's first choice
seconds as (
    select
        choices.run,
        choices.host,
        choices.address,
        choices.score,
    from choices
    where
        (choices.run, choices.host) not in (select (run, host) from firsts)
        and (choices.run, choices.address) not in (
            select (run, address) from firsts
        )
        and (choices.score).struct_extract(1)
    qualify
        row_number() over (
            partition by choices.run, choices.host
            order by choices.score desc, choices.address asc
        ) = 1
),

chosen as (
    select * from firsts
    union all
    select
        run,
        host,
        address,
    from seconds
    qualify
        row_number() over (
            partition by run, address order by score desc, host asc
        ) = 1
),

guessed as (
    select
        chosen.run,
        chosen.host,
        named.site,
        chosen.address,
        row_number() over (partition by chosen.run order by chosen.host)
            as position,
        true as is_guessed,
    from chosen
    left join named on chosen.run = named.run and chosen.host = named."name"
),

final as (
    select * from known
    union all by name
    select * from guessed
)

select * from final
