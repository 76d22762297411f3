-- One row per capture host whose clock differs from the one that most hosts of its run share.
select
    run,
    host,
    shift_ns,  -- how much later its times are than theirs
from clock_offsets
where shift_ns <> 0
