-- The time that a second lightpath saves the supernova farm, over the time that the first saves.
with

times as (
    select
        arg_min(completion_s, rate_asked_mbit_s) as internet_s,
        median(completion_s) filter (is_baseline) as lightpath_s,
        median(completion_s) filter (links = 2) as both_s,
    from figure_completion
    where app = 'supernova' and axis in ('rate', 'links')
)

select
    'all' as key,
    (lightpath_s - both_s) / nullif(internet_s - lightpath_s, 0) as ours,
from times
