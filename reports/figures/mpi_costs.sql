-- One row per valid run, rank and primitive of MPI: calls and time, as the application's
-- record states.
with

counted as (
    select
        run,
        "rank",
        host,
        site,
        unnest(json_keys(mpi)) as primitive,
        mpi,
    from app_ranks
    where json_type(mpi) = 'OBJECT'
),

costs as (
    select
        * exclude (mpi),
        (mpi -> primitive ->> 'calls')::bigint as calls,
        (mpi -> primitive ->> 'seconds')::double as total_s,
    from counted
),

final as (
    select
        points.* exclude (label),
        costs.run,
        costs.rank,
        costs.host,
        costs.site,
        costs.primitive,
        costs.calls,
        round(costs.total_s, 9) as total_s,
        if(calls > 0, round(total_s * 1e6 / calls, 4), null) as call_us,
        round(costs.total_s / runs.completion_s, 6) as share,
        round(runs.completion_s, 6) as completion_s,
    from costs
    inner join runs using (run)
    inner join point_runs using (run)
    inner join points on point_runs.point = points.point
    where costs.calls is not null
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by app, problem, is_baseline desc, point, run, "rank", primitive
