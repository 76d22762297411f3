-- Goodput that the application reports for the long transfer, over the mean that is captured at the
-- receiving host.
select
    'all' as key,
    median(own.goodput_mbit_s / seen.mean_mbit_s) as ours,
from figure_goodput as own
inner join figure_monitoring as seen using (app, problem, point)
where
    own.app = (
        -- the later of the two names
        select max(app)
        from points
        where app in ('lambda', 'long')
    )
    and own.is_baseline
    and own.streams = own.runs
    and seen.window_ms = 10
    and seen.direction = 'in'
    and starts_with(seen.host, 'sandiego')
having count(*) > 0
