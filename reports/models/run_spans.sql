-- One row per run: from the first to the last of its windows, and whether rates over it mean
-- anything. Captures alone last from the first packet to the last: what is shorter than a bin has
-- no rate.
select
    run,
    min(start_ns) as start_ns,
    max(end_ns) as end_ns,
    bool_or(covers <> 'first to last packet' or end_ns - start_ns >= bin_ns) as has_rate,
from windows
group by run
