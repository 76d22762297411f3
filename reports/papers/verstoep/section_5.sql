-- The messages of Awari at the baseline.
select
    'messages' as key,
    messages_s / ranks as ours,
from figure_message_rate
inner join main_problems using (app, problem)
where app = 'awari' and is_baseline
union all
select
    'size',
    mean_bytes / 1e3,
from figure_message_rate
inner join main_problems using (app, problem)
where app = 'awari' and is_baseline
