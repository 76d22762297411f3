-- The message rate of model checking by the links, by the limit of flushes, and over time.
with

rates as (
    select
        median(messages_s) filter (is_baseline) as one,
        median(messages_s) filter (links = 2) as two,
        median(mean_bytes) filter (is_baseline) as free_bytes,
        median(mean_bytes) filter (
            starts_with(variant, 'flush') and placement is null
        ) as limited_bytes,
    from figure_message_rate
    inner join main_problems using (app, problem)
    where app = 'modelcheck'
),

steps as (
    select max(messages_s) / median(messages_s) as ours
    from figure_message_rate_series
    inner join main_problems using (app, problem)
    where app = 'modelcheck' and is_baseline
)

select
    'links' as key,
    two / one as ours,
from rates
union all
select
    'limited',
    limited_bytes / free_bytes,
from rates
union all
select
    'spikes',
    ours,
from steps
