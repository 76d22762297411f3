-- The supernova farm that gives its lightpath back and requests it again, beside the farm that has
-- it all the time, and beside the one over the Internet.
with

times as (
    select
        median(completion_s) filter (schedule = 'on-demand') as demand_s,
        median(completion_s) filter (is_baseline) as lightpath_s,
        arg_min(completion_s, rate_asked_mbit_s) filter (schedule is null)
            as internet_s,
        avg(offered_share) filter (schedule = 'on-demand') as offered_share,
    from figure_reconfiguration
    where app = 'supernova'
)

select
    'gain' as key,
    1 - demand_s / internet_s as ours,
from times
union all
select
    'cost',
    demand_s / lightpath_s - 1,
from times
union all
select
    'saved',
    1 - offered_share,
from times
