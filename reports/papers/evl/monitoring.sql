-- The busiest window of the receiver, by a fine monitor and by one whose windows are as wide as a
-- run allows: of the long transfer, where there is one.
select
    'all' as key,
    arg_min(peak_mbit_s, window_ms) / arg_max(peak_mbit_s, window_ms) as ours,
from figure_monitoring
where
    app = (
        -- the later of the two names
        select max(app)
        from points
        where app in ('lambda', 'long')
    )
    and shorter_runs = 0
    and is_baseline
    and direction = 'in'
    and starts_with(host, 'sandiego')
