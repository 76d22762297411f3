-- One row per run that a figure of traffic may use, with its point. Runs without a completion time
-- are included, unlike in `sweep_points`; runs beside another application are not, because their
-- captures contain the packets of both.
select
    run,
    point,
from runs
where is_valid and is_alone and not is_warmup
