-- The busiest window of the receiver, by a fine monitor and by a coarse one.
select
    'all' as key,
    median(peak_mbit_s) filter (window_ms = 10)
    / median(peak_mbit_s) filter (window_ms = 60000) as ours,
from figure_monitoring
where
    app = 'lambda'
    and is_baseline
    and direction = 'in'
    and starts_with(host, 'sandiego')
