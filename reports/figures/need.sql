-- One row per outcome with a limit in the experiment file, and point: whether the limit is kept
-- there.
with

final as (
    select
        need_points.outcome,
        need_points.relation,
        rounded(need_points.limit_value) as limit_value,
        need_points.unit,
        need_points.state,
        rounded(need_points.value) as "value",
        rounded(need_points.low) as low,
        rounded(need_points.high) as high,
        need_points.reason,
        need_points.noise,
        need_points.runs_used,
        need_points.runs_within,
        points.label,
        points.* exclude (label),
    from need_points
    inner join points using (app, problem, point)
)

select * from final
order by outcome, app, problem, point
