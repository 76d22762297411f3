-- One row per run that a figure of traffic may use, with its point. A run without a
-- completion time counts here, unlike in `sweep_points`; one beside which another application
-- ran does not, as its captures hold the packets of both.
select
    run,
    point,
from runs
where is_valid and is_alone and not is_warmup
