-- Model checking at the baseline: one lightpath, all ranks.
with

checked as (
    select
        median(peak_mbit_s) as peak_mbit_s,
        median(peak_mbit_s_per_rank) as peak_mbit_s_per_rank,
        median(ranks) as ranks,
        median(rate_asked_mbit_s) as rate_asked_mbit_s,
    from figure_peak_by_ranks
    inner join main_problems using (app, problem)
    where is_baseline and app = 'modelcheck'
),

rates as (
    select median(messages_s) as messages_s
    from figure_message_rate
    inner join main_problems using (app, problem)
    where is_baseline and app = 'modelcheck'
),

-- the message size that carries the most bytes
sizes as (
    select arg_max(bytes, total_bytes) as bytes
    from (
        select
            messages.bytes,
            sum(messages.bytes) as total_bytes,
        from messages
        inner join runs using (run)
        inner join main_problems using (app, problem)
        where runs.is_baseline and runs.is_used and runs.app = 'modelcheck'
        group by messages.bytes
    )
),

-- each pair of sites has a link of its own
pairs as (
    select count(*) as links
    from (
        select distinct
            wan_links.site_a,
            wan_links.site_b,
        from wan_links
        inner join runs using (run)
        where runs.is_baseline and runs.app = 'modelcheck'
    )
)

select
    'peak' as key,
    peak_mbit_s / 1e3 as ours,
from checked
union all
select
    'core',
    peak_mbit_s_per_rank / 8,
from checked
union all
select
    'messages',
    rates.messages_s / checked.ranks,
from rates
cross join checked
union all
select
    'size',
    bytes / 1024,
from sizes
union all
select
    'used',
    checked.peak_mbit_s
    / nullif(2 * pairs.links * checked.rate_asked_mbit_s, 0),
from checked
cross join pairs
