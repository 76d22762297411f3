-- One row per run, host and direction: all that it sent or received, from its own capture.
select
    run,
    host,
    direction,
    sum(packets)::bigint as packets,
    sum(wire_bytes)::bigint as wire_bytes,
from host_traffic
group by run, host, direction
