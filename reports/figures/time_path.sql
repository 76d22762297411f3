-- One row per valid run whose captures were matched: the parts of the time on its critical path.
with

final as (
    select
        points.* exclude (label),
        point_runs.run,
        runs.completion_s,
        path_times.* exclude (run),
    from path_times
    inner join point_runs using (run)
    inner join points on point_runs.point = points.point
    inner join runs on point_runs.run = runs.run
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by app, problem, is_baseline desc, point, run
