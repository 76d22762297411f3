-- The completion time of model checking: with one lightpath over that with two, and with two over
-- that on one cluster.
with

timed as (
    select
        median(own.completion_s) filter (own.is_baseline) as one_s,
        median(own.completion_s) filter (own.links = 2) as two_s,
        median(own.completion_s) filter (own.placement is not null)
            as cluster_s,
    from figure_totals as own
    inner join main_problems using (app, problem)
    inner join points as base using (app, problem)
    where
        own.app = 'modelcheck'
        and base.is_baseline
        and own.variant is null
        and own.ranks = base.ranks
        and own.rate_asked_mbit_s = base.rate_asked_mbit_s
)

select
    'lightpaths' as key,
    one_s / two_s as ours,
from timed
union all
select
    'cluster',
    two_s / cluster_s,
from timed
