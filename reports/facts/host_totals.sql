-- One row per run, host and direction: all that its own capture has of what it sent or received.
select
    run,
    host,
    direction,
    sum(packets)::bigint as packets,
    sum(wire_bytes)::bigint as wire_bytes,
from host_traffic
group by run, host, direction
