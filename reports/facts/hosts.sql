-- One row per run and host: its site and its addresses in the experiment network, the main one
-- (`address`) first. run.json has an entry for each address of a host; those of a host without any
-- are guessed from its capture. A candidate has sent a packet, and is not in run.json. These
-- decide, in order: a host may have the address; it sent most of the packets that the file marks as
-- the capturing host's; it is in the most packets between two hosts; its segments wait longer for
-- their acknowledgements, because the other end is far away; it sent more to groups; it is private;
-- it opened more connections, because captures are made at the client more often than at the
-- server. No two hosts of a run have the same address: the better guess keeps it, and the other
-- host gets its best address that is no host's first choice, or none. `is_arbitrary`: only the kind
-- of the address and the order of names decided. A host that speaks IPv4 and IPv6 has an address of
-- each if both are in nearly all packets of their family; else the capture may be of a network, and
-- not of one host.
with

named as (
    select
        run,
        unnest(hosts, recursive := true),
        generate_subscripts(hosts, 1) as position,
    from stg_runs
),

-- the hosts of run.json
stated as (
    select
        run,
        "name" as host,
        arg_min(site, position) as site,
        min(position) as position,
    from named
    where "name" is not null
    group by run, "name"
),

-- the addresses of run.json
addressed as (
    select
        run,
        "name" as host,
        address,
        min(position) as position,
    from named
    where "name" is not null and address is not null
    group by run, "name", address
),

known as (
    select
        stated.*,
        arg_min(addressed.address, addressed.position) as address,
        list(addressed.address order by addressed.position) as addresses,
        false as is_guessed,
        false as is_arbitrary,
    from stated
    inner join addressed using (run, host)
    group by stated.run, stated.host, stated.site, stated.position
),

-- each direction with its least and greatest `rtt_min_ns` over all captures of the run
directions as (
    select
        *,
        min(rtt_min_ns) over all_captures as least_rtt_ns,
        max(rtt_min_ns) over all_captures as most_rtt_ns,
    from stg_flows
    where (run, host) not in (select (run, host) from known)
    window all_captures as (
        partition by run, protocol, src_ip, src_port, dst_ip, dst_port
    )
),

-- both ends of each direction; `is_near`: the RTTs show that it is close to the capture point
ends as (
    select
        there.run,
        there.host,
        unnest([there.src_ip, there.dst_ip]) as address,
        unnest([there.dst_ip, there.src_ip]) as other_address,
        unnest([coalesce(there.packets > 0, true), false]) as is_source,
        unnest([there.direction = 'forward', false]) as is_opener,
        unnest([coalesce(there.outgoing_packets, 0), 0]) as outgoing,
        there.packets,
        coalesce(there.packets > 0 and back.packets > 0, false)
        and there.protocol in ('tcp', 'udp') as is_answered,
        unnest(
            [
                there.rtt_min_ns > 4 * back.rtt_min_ns
                or there.rtt_min_ns > 4 * there.least_rtt_ns,
                back.rtt_min_ns > 4 * there.rtt_min_ns
                or there.most_rtt_ns > 4 * there.rtt_min_ns,
            ]
        ) as is_near,
    from directions as there
    left join directions as back
        on
            there.run = back.run
            and there.host = back.host
            and there.connection = back.connection
            and there.direction <> back.direction
),

candidates as (
    select
        run,
        host,
        address,
        contains(address, ':') as is_v6,
        coalesce(sum(packets) filter (is_answered), 0) as answered,
        coalesce(sum(packets) filter (is_answered and is_source), 0)
            as sent_answered,
        (
            2 * sum(outgoing) > sum(sum(outgoing)) over (
                partition by run, host, contains(address, ':')
            ),
            coalesce(
                sum(packets) filter (is_host_address(other_address, true)), 0
            ),
            count(*) filter (is_near)
        ) as evidence,
        (
            is_host_address(address, bool_or(is_source)),
            evidence.struct_extract(1),
            evidence.struct_extract(2),
            evidence.struct_extract(3),
            sum(packets),
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
    where (run, address) not in (select (run, address) from addressed)
),

-- the best address of each family; `is_in_most`: it is in nine tenths of the family's answered
-- packets; `is_alone_best`: no other candidate has the same evidence
bests as (
    select
        *,
        answered > 0.9 * sum(sent_answered) over whole_family as is_in_most,
        coalesce(lead(evidence) over by_score <> evidence, true)
            as is_alone_best,
    from choices
    window
        whole_family as (partition by run, host, is_v6),
        by_score as (
            partition by run, host, is_v6 order by score desc, address asc
        )
    qualify row_number() over by_score = 1
),

-- the first choices: each address to the host for which it is the best guess
firsts as (
    select
        run,
        host,
        address,
        is_v6,
        row_number() over for_one_address as place,
        bool_or(is_alone_best) over (partition by run, address) as is_evident,
    from bests
    where choice = 1
    window for_one_address as (
        partition by run, address
        order by is_alone_best desc, score desc, host asc
    )
),

-- hosts that lost their first choice: the best address of its family that is no host's first choice
seconds as (
    select
        choices.run,
        choices.host,
        choices.address,
        not firsts.is_evident as is_arbitrary,
    from firsts
    inner join choices using (run, host, is_v6)
    where
        firsts.place > 1
        and (choices.run, choices.address) not in (
            select (run, address) from firsts
        )
        and (choices.score).struct_extract(1)
    qualify
        row_number() over (
            partition by choices.run, choices.host
            order by choices.score desc, choices.address asc
        ) = 1
        and row_number() over (
            partition by choices.run, choices.address
            order by choices.score desc, choices.host asc
        ) = 1
),

chosen as (
    select
        run,
        host,
        address,
        not is_evident
        and count(*) over (partition by run, address) > 1 as is_arbitrary,
    from firsts
    qualify place = 1
    union all
    select * from seconds
),

lone_hosts as (
    select
        run,
        host,
    from bests
    group by run, host
    having bool_and(is_in_most and is_alone_best)
),

-- the address of the other family, if it is no host's main address
second_families as (
    select
        run,
        host,
        address,
    from bests
    semi join lone_hosts using (run, host)
    where
        choice > 1
        and (run, address) not in (select (run, address) from chosen)
    qualify
        row_number() over (
            partition by run, address order by score desc, host asc
        ) = 1
),

guessed as (
    select
        chosen.run,
        chosen.host,
        stated.site,
        chosen.address,
        [chosen.address] || if(
            second_families.address is null, [], [second_families.address]
        ) as addresses,
        stated.position,
        true as is_guessed,
        chosen.is_arbitrary,
    from chosen
    left join second_families using (run, host)
    left join stated using (run, host)
),

final as (
    select * from known
    union all by name
    select * from guessed
)

-- in the order of run.json; hosts that it does not name come last
select
    * replace (
        row_number() over (partition by run order by position nulls last, host) as position
    ),
from final
