-- One row per application, problem, point and pair of hosts: packets that could carry a
-- congestion mark, those that a queue marked, and how the hosts answered; medians over runs.
with

-- Marks are set on the way: the capture nearest to the receiver knows most of them.
by_capture as (
    select
        run,
        host,
        coalesce(sender, src_ip) as sender,
        coalesce(receiver, dst_ip) as receiver,
        sum(ecn_capable_packets) as capable,
        sum(ce_packets) as marked,
        -- AccECN's counter hides those of a flow: then the sum is not known
        bool_or(protocol = 'tcp' and ece_packets is null) as has_counter,
        if(has_counter, null, sum(ece_packets)) as echoes,
        if(has_counter, null, sum(cwr_packets)) as answers,
    from flows
    where ecn_capable_packets is not null
    group by all
),

by_pair as (
    select
        run,
        sender,
        receiver,
        max(capable) as capable,
        max(marked) as marked,
        max(echoes) as echoes,
        max(answers) as answers,
    from by_capture
    group by all
),

of_runs as (
    select
        forward.run,
        forward.sender,
        forward.receiver,
        forward.capable,
        forward.marked,
        -- of what the sender sent: the receiver sends them back
        backward.echoes,
        forward.answers,
    from by_pair as forward
    left join by_pair as backward
        on
            forward.run = backward.run
            and forward.sender = backward.receiver
            and forward.receiver = backward.sender
    where forward.capable > 0
),

final as (
    select
        points.* exclude (label),
        of_runs.sender,
        of_runs.receiver,
        count(*) as runs_used,
        if(count(*) = 1, any_value(of_runs.run), null) as run,
        median(of_runs.capable) as capable_packets,
        median(of_runs.marked) as marked_packets,
        median(of_runs.marked / of_runs.capable) as marked_share,
        median(of_runs.echoes) as echo_packets,
        median(of_runs.answers) as reduced_packets,
    from of_runs
    inner join point_runs using (run)
    inner join points on point_runs.point = points.point
    group by all
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s,
        round(marked_share, 6) as marked_share
    ),
from final
order by app, problem, is_baseline desc, point, sender, receiver
