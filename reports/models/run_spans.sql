-- One row per run: the time from its first to its last window, and whether it has rates. Captures
-- alone last from the first packet to the last: a time shorter than a bin has no rate.
select
    run,
    min(start_ns) as start_ns,
    max(end_ns) as end_ns,
    bool_or(covers <> 'first to last packet' or end_ns - start_ns >= bin_ns) as has_rate,
from windows
group by run
