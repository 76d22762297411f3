-- Lightpaths for the most ranks: as the fewer predict them, over those that were needed.
select
    'all' as key,
    arg_max(lightpaths_predicted / lightpaths_measured, ranks) as ours,
from figure_peak_prediction
inner join main_problems using (app, problem)
where app = 'modelcheck' and is_tried
having count(*) > 1
