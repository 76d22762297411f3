-- One row per application, problem, point and pair of hosts: packets that could carry a
-- congestion mark, those that a queue marked, and how the hosts answered; medians over runs.
with

-- Marks are set on the way: the capture nearest to the receiver has most of them.
by_capture as (
    select
        run,
        host,
        coalesce(sender, src_ip) as sender,
        coalesce(receiver, dst_ip) as receiver,
        sum(ecn_capable_packets) as capable,
        sum(ce_packets) as marked,
        -- A flow with AccECN's counter has no such count: the sum is then unknown.
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

run_sums as (
    select
        forward.run,
        forward.sender,
        forward.receiver,
        forward.capable,
        forward.marked,
        -- Echoes of the sender's marked packets come from the receiver.
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
        run_sums.sender,
        run_sums.receiver,
        count(*) as runs_used,
        if(count(*) = 1, any_value(run_sums.run), null) as run,
        median(run_sums.capable) as capable_packets,
        median(run_sums.marked) as marked_packets,
        median(run_sums.marked / run_sums.capable) as marked_share,
        median(run_sums.echoes) as echo_packets,
        median(run_sums.answers) as reduced_packets,
    from run_sums
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
