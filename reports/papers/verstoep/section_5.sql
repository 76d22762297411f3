-- The messages of Awari at the baseline.
with

rates as (
    select
        median(messages_s / ranks) as messages,
        median(mean_bytes) / 1e3 as size,
    from figure_message_rate
    inner join main_problems using (app, problem)
    where app = 'awari' and is_baseline
)

select
    'messages' as key,
    messages as ours,
from rates
union all
select
    'size',
    size,
from rates
