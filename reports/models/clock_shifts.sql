-- One row per capture host whose clock differs from the one that most hosts of its run share.
select
    run,
    host,
    shift_ns,  -- its times are later than theirs by so much
from clock_offsets
where shift_ns <> 0
