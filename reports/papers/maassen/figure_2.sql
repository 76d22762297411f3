-- The completion time of model checking with one lightpath, over that with two.
select
    'lightpaths' as key,
    median(own.completion_s) filter (own.is_baseline)
    / median(own.completion_s) filter (own.links = 2) as ours,
from figure_totals as own
inner join points as base using (app, problem)
where
    own.app = 'modelcheck'
    and base.is_baseline
    and own.variant is null
    and own.ranks = base.ranks
    and own.rate_asked_mbit_s = base.rate_asked_mbit_s
