-- One row per capture file and interface, numbered: what its grade depends on. The names are those
-- that flowsweep.analysis.grades expects; `flowsweep show` computes the same for one file.
select
    row_number() over (
        order by
            run, host, file, interface, first_ns, last_ns, packets, wire_bytes
    ) as capture,
    *,
from capture_quality
