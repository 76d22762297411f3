-- One row per outcome and tried point of the plane of RTT and rate, and one per place where a line
-- of equal slowdown crosses between two of these points that are neighbours in RTT or rate.
with

bases as (
    select
        plane_points.app,
        plane_points.problem,
        point_outcomes.outcome,
        point_outcomes.cost,
    from plane_points
    inner join point_outcomes using (app, problem, point)
    where plane_points.is_baseline
),

tried as (
    select
        plane_points.*,
        point_outcomes.outcome,
        point_outcomes.place,
        point_outcomes.cost / bases.cost as slowdown,
        point_outcomes.value,
        point_outcomes.completion_s,
        point_outcomes.runs_used,
    from plane_points
    inner join point_outcomes using (app, problem, point)
    inner join bases using (app, problem, outcome)
    where point_outcomes.cost is not null and bases.cost is not null
),

---------- two tried points with nothing tried between them
neighbours as (
    select
        'rtt' as along,
        tried as near,
        lead(tried) over (
            partition by app, problem, outcome, rate_asked_mbit_s
            order by rtt_asked_ms
        ) as far,
    from tried
    union all by name
    select
        'rate' as along,
        tried as near,
        lead(tried) over (
            partition by app, problem, outcome, rtt_asked_ms
            order by rate_asked_mbit_s desc nulls first
        ) as far,
    from tried
),

crossed as (
    select
        along,
        near,
        far,
        levels.level,
        (levels.level - near.slowdown) / (far.slowdown - near.slowdown) as part,
    from neighbours
    cross join (values (1.1), (1.5)) as levels (level)
    where
        far is not null
        and (near.slowdown < levels.level) != (far.slowdown < levels.level)
),

lines as (
    select
        near.app,
        near.problem,
        near.outcome,
        near.place,
        'line' as kind,
        level,
        along,
        level as slowdown,
        near.point as from_point,
        far.point as to_point,
        false as is_baseline,
        rounded(near.rtt_ms + part * (far.rtt_ms - near.rtt_ms)) as rtt_ms,
        rounded(
            1 / nullif(
                near.us_per_bit + part * (far.us_per_bit - near.us_per_bit), 0
            )
        ) as rate_mbit_s,
    from crossed
),

final as (
    select
        points.* exclude (label),
        tried.outcome,
        tried.place,
        'tried' as kind,
        null::double as level,
        null::varchar as along,
        rounded(tried.slowdown) as slowdown,
        rounded(tried.value) as "value",
        rounded(tried.completion_s) as completion_s,
        tried.runs_used,
        null::bigint as from_point,
        null::bigint as to_point,
    from tried
    inner join points using (app, problem, point)
    union all by name
    select * from lines
)

select
    outcome,
    kind,
    level,
    along,
    slowdown,
    "value",
    completion_s,
    runs_used,
    from_point,
    to_point,
    * exclude (
        outcome, kind, level, along, slowdown, "value", completion_s, runs_used, from_point,
        to_point, place
    ),
from final
order by app, problem, place, kind desc, level, rtt_ms, rate_mbit_s, point, from_point
