-- One row per valid run, rank and phase of the application: how long the rank was in it, as
-- its record states.
with

ordered as (
    select
        *,
        max(end_s) over (
            partition by run, "rank" order by start_s, end_s
            rows between unbounded preceding and 1 preceding
        ) as reached_s,
    from app_phases
),

doubled as (
    select
        run,
        "rank",
        sum(greatest(least(end_s, coalesce(reached_s, start_s)) - start_s, 0))
            as overlap_s,
    from ordered
    group by run, "rank"
),

summed as (
    select
        run,
        "rank",
        phase,
        count(*) as spans,
        sum(end_s - start_s) as phase_s,
        max(end_s - start_s) as longest_s,
        min(start_s) as first_start_s,
        max(end_s) as last_end_s,
    from app_phases
    group by run, "rank", phase
),

final as (
    select
        points.* exclude (label),
        summed.run,
        summed.rank,
        app_ranks.host,
        app_ranks.site,
        summed.phase,
        summed.spans,
        round(summed.phase_s, 6) as phase_s,
        round(summed.phase_s / runs.completion_s, 6) as share,
        round(summed.longest_s, 6) as longest_s,
        round(summed.first_start_s, 6) as first_start_s,
        round(summed.last_end_s, 6) as last_end_s,
        round(coalesce(doubled.overlap_s, 0), 6) as overlap_s,
        round(runs.completion_s, 6) as completion_s,
    from summed
    inner join doubled
        on summed.run = doubled.run and summed.rank = doubled.rank
    inner join runs on summed.run = runs.run
    inner join point_runs on summed.run = point_runs.run
    inner join points on point_runs.point = points.point
    left join app_ranks
        on summed.run = app_ranks.run and summed.rank = app_ranks.rank
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by
    app, problem, is_baseline desc, point, run, "rank", first_start_s, phase
