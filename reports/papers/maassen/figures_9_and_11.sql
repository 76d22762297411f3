-- The mean number of transfers to VU at once, over the Internet and with a lightpath.
with

active as (
    select
        is_baseline,
        rate_mbit_s,
        avg(mean_active) as mean_active,
    from figure_transfer_activity
    where app = 'supernova' and role = 'receiving' and place = 'vu'
    group by is_baseline, rate_mbit_s
)

select
    'vu' as key,
    arg_min(mean_active, rate_mbit_s)
    / nullif(max(mean_active) filter (is_baseline), 0) as ours,
from active
