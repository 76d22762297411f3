-- One row per run that a figure of traffic may use, with its point. A run without a
-- completion time counts here, unlike in `sweep_points`.
select
    run,
    point,
from runs
where is_valid and not is_warmup
