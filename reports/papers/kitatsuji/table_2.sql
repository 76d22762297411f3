-- Packets and bytes of the shown host, both ways, where RTT alone was varied.
with

own as (
    select
        flows.run,
        sum(packets) as packets,
        sum(wire_bytes) as bytes,
    from flows
    inner join shown_hosts using (run)
    where
        flows.is_counted
        and shown_hosts.host in (flows.sender, flows.receiver)
    group by flows.run
),

-- the line of the baseline: no other axis differs from it
line as (
    select others.point
    from axis_points as base
    inner join axis_points as others using (axis, line)
    inner join points on base.point = points.point
    inner join main_problems
        on
            points.app = main_problems.app
            and points.problem = main_problems.problem
    where base.axis = 'rtt' and base.is_reference and points.is_baseline
),

by_point as (
    select
        points.app,
        if(points.is_baseline, '0.331', points.rtt_asked_ms::varchar) as rtt,
        median(own.packets) as packets,
        median(own.bytes) as bytes,
    from line
    inner join points using (point)
    inner join point_runs using (point)
    inner join own using (run)
    group by all
)

select
    concat_ws(' ', app, value, rtt) as key,
    ours,
from (
    unpivot by_point
    on packets, bytes
    into name value value ours
)
