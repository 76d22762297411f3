-- One row per application, problem and point: what held the TCP senders back, as shares of the time
-- from the first data to the last acknowledgement of each flow direction between the sites. A
-- direction is weighted by its payload, so that an open one that carries nothing has no weight.
--
-- While an answer is under way, a sender waits for the other side. The other host's part of that is
-- the time that its own application took, by its own capture and without its own waits. The
-- network's part is the rest: the smallest RTT for each answer, then the payload at the link's
-- rate, then queues and windows.
with

-- Tables of older parsers divide all of the time among four causes.
counted as (
    select
        *,
        coalesce(unknown_limited_ns, 0) as unexplained_ns,
        coalesce(peer_wait_ns, 0) as wait_ns,
        -- connections that used these ports, also those without payload in this direction
        count(*) over (
            partition by run, src_ip, src_port, dst_ip, dst_port
        ) as uses,
    from flows
    where is_counted and is_on_path and protocol = 'tcp'
),

judged as (
    select
        point_runs.point,
        point_runs.run,
        flows.src_ip,
        flows.src_port,
        flows.dst_ip,
        flows.dst_port,
        flows.start,
        flows.rtt_min_ns,
        flows.peer_waits,
        flows.wait_ns,
        flows.uses,
        flows.payload_bytes,
        flows.duration_ns,
        flows.app_limited_ns
        + flows.sender_limited_ns
        + flows.receiver_limited_ns
        + flows.network_limited_ns
        + flows.unexplained_ns as sending_ns,
        flows.app_limited_ns,
        flows.sender_limited_ns,
        flows.receiver_limited_ns,
        flows.network_limited_ns,
        flows.unexplained_ns,
        case
            when
                not host_grades.has_content
                then 'capture of grade ' || host_grades.worst_grade
            when not flows.is_at_sender then 'sender not captured'
            when sending_ns is null then 'limits not in the tables'
        end as unknown_because,
    from counted as flows
    inner join point_runs using (run)
    left join host_grades using (run, host)
    where flows.payload_bytes > 0
),

-- Pairs of endpoints that several connections used are left out.
others as (
    select
        run,
        src_ip,
        src_port,
        dst_ip,
        dst_port,
        any_value(payload_bytes) as payload_bytes,
        any_value(app_limited_ns - wait_ns)
        filter (unknown_because is null) as own_ns,
        any_value(unexplained_ns) filter (unknown_because is null) as unexplained_ns,
    from judged
    where uses = 1
    group by run, src_ip, src_port, dst_ip, dst_port
),

waits as (
    select
        judged.*,
        -- The network's part is at least this. Without a handshake the smallest RTT may include
        -- work of the host.
        least(
            judged.wait_ns,
            coalesce(
                judged.peer_waits
                * case when judged.start = 'syn' then judged.rtt_min_ns end,
                0
            )
        ) as rtt_ns,
        -- 0 if the other host was not captured, as nothing is known of it.
        least(judged.wait_ns - rtt_ns, coalesce(others.own_ns, 0)) as peer_ns,
        greatest(
            coalesce(
                judged.wait_ns - others.own_ns - others.unexplained_ns, 0
            ),
            rtt_ns
        ) as path_ns,
        coalesce(
            (judged.payload_bytes + coalesce(others.payload_bytes, 0)) * 8000.0
            / (points.rate_asked_mbit_s * coalesce(points.links, 1)),
            0
        ) as line_ns,
    from judged
    inner join points using (point)
    left join others
        on
            judged.run = others.run
            and judged.src_ip = others.dst_ip
            and judged.src_port = others.dst_port
            and judged.dst_ip = others.src_ip
            and judged.dst_port = others.src_port
            and judged.uses = 1
),

split as (
    select
        *,
        least(path_ns - rtt_ns, line_ns) as link_ns,
    from waits
),

directions as (
    select
        *,
        payload_bytes / sending_ns as weight,
    from split
),

summed as (
    select
        point,
        count(distinct run) as runs,
        if(runs = 1, any_value(run), null) as run,
        count(*) as directions,
        count(unknown_because) as unknown_directions,
        string_agg(distinct unknown_because, '; ' order by unknown_because)
            as refused_because,
        sum(sending_ns) filter (unknown_because is null) as sending_ns,
        sum(payload_bytes) filter (unknown_because is not null)
            as refused_bytes,
        -- Payload that was sent in a single moment waited for nothing.
        sum(payload_bytes) filter (unknown_because is null and sending_ns > 0)
            as explained_bytes,
        sum(payload_bytes::double * unexplained_ns / sending_ns)
        filter (unknown_because is null and sending_ns > 0) as unexplained_bytes,
        sum(payload_bytes::double * app_limited_ns / sending_ns)
        filter (unknown_because is null and sending_ns > 0) as app_bytes,
        sum(payload_bytes::double * sender_limited_ns / sending_ns)
        filter (unknown_because is null and sending_ns > 0) as sender_bytes,
        sum(payload_bytes::double * receiver_limited_ns / sending_ns)
        filter (unknown_because is null and sending_ns > 0) as receiver_bytes,
        sum(payload_bytes::double * network_limited_ns / sending_ns)
        filter (unknown_because is null and sending_ns > 0) as network_bytes,
        sum(weight * wait_ns)
        filter (unknown_because is null and sending_ns > 0) as wait_bytes,
        sum(weight * rtt_ns)
        filter (unknown_because is null and sending_ns > 0) as wait_rtt_bytes,
        sum(weight * link_ns)
        filter (unknown_because is null and sending_ns > 0) as wait_link_bytes,
        sum(weight * (path_ns - rtt_ns - link_ns))
        filter (unknown_because is null and sending_ns > 0)
            as wait_queue_bytes,
        sum(weight * peer_ns)
        filter (unknown_because is null and sending_ns > 0) as wait_peer_bytes,
        -- the flow direction that was held back most, by anything but the application
        max(1 - (app_limited_ns - wait_ns + unexplained_ns) / sending_ns)
        filter (unknown_because is null and sending_ns > 0)
            as most_held_share,
    from directions
    group by point
),

payload as (
    select
        point_runs.point,
        sum(run_payload.udp_bytes)
        / nullif(sum(run_payload.payload_bytes), 0) as udp_share,
    from run_payload
    inner join point_runs using (run)
    group by point_runs.point
),

-- the share of its rate that the busiest direction between two sites used, over the time of a run
used as (
    select
        points.point,
        seen.run,
        max(
            seen.mean_mbit_s / coalesce(
                limits.limit_mbit_s,
                points.rate_asked_mbit_s * coalesce(points.links, 1)
            )
        ) as link_share,
    from wan_summaries as seen
    inner join point_runs using (run)
    inner join points using (point)
    left join wan_limits as limits
        on
            seen.run = limits.run
            and seen.from_site = limits.from_site
            and seen.to_site = limits.to_site
    where seen.from_site is not null and seen.to_site is not null
    group by points.point, seen.run
),

links as (
    select
        point,
        median(link_share) as link_share,
    from used
    group by point
),

shares as (
    select
        *,
        nullif(coalesce(explained_bytes, 0) + coalesce(refused_bytes, 0), 0)
            as all_bytes,
        coalesce(refused_bytes, 0) + coalesce(unexplained_bytes, 0) as unknown_bytes,
        nullif(
            concat_ws(
                '; ',
                refused_because,
                case when unexplained_bytes > 0 then 'headers do not show it' end
            ),
            ''
        ) as unknown_because,
    from summed
),

final as (
    select
        points.* exclude (label),
        shares.run,
        shares.runs,
        shares.directions,
        shares.unknown_directions,
        shares.unknown_because,
        round(shares.sending_ns / 1e9, 6) as sending_s,
        round(coalesce(shares.app_bytes, 0) / shares.all_bytes, 6)
            as app_share,
        round(coalesce(shares.sender_bytes, 0) / shares.all_bytes, 6)
            as sender_share,
        round(coalesce(shares.receiver_bytes, 0) / shares.all_bytes, 6)
            as receiver_share,
        round(coalesce(shares.network_bytes, 0) / shares.all_bytes, 6)
            as network_share,
        round(shares.unknown_bytes / shares.all_bytes, 6)
            as unknown_share,
        round(
            (coalesce(shares.app_bytes, 0) - coalesce(shares.wait_bytes, 0))
            / shares.all_bytes,
            6
        ) as own_share,
        round(coalesce(shares.wait_bytes, 0) / shares.all_bytes, 6)
            as wait_share,
        round(coalesce(shares.wait_rtt_bytes, 0) / shares.all_bytes, 6)
            as wait_rtt_share,
        round(coalesce(shares.wait_link_bytes, 0) / shares.all_bytes, 6)
            as wait_link_share,
        round(coalesce(shares.wait_queue_bytes, 0) / shares.all_bytes, 6)
            as wait_queue_share,
        round(coalesce(shares.wait_peer_bytes, 0) / shares.all_bytes, 6)
            as wait_peer_share,
        round(shares.most_held_share, 6) as most_held_share,
        round(payload.udp_share, 6) as udp_share,
        round(links.link_share, 6) as link_share,
    from points
    inner join shares on points.point = shares.point
    left join payload on points.point = payload.point
    left join links on points.point = links.point
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by app, problem, is_baseline desc, point
