-- One row per axis of names and point with another name than the baseline: its median completion
-- time beside that of the point that has the baseline's name and all else alike.
with

timed as (
    select
        point,
        median(completion_s) as completion_s,
        count(*) as runs_used,
    from runs
    where is_used
    group by point
),

final as (
    select
        pairs.axis,
        pairs.name,
        pairs.reference_name,
        reference.label as beside,
        rounded(ratios.ratio) as ratio,
        rounded(ratios.low) as ratio_low,
        rounded(ratios.high) as ratio_high,
        ratios.noise,
        ratios.noise_reason,
        rounded(mine.completion_s) as completion_s,
        rounded(its.completion_s) as reference_s,
        coalesce(mine.runs_used, 0) as runs_used,
        coalesce(its.runs_used, 0) as reference_runs,
        pairs.reference_point,
        points.*,
    from name_pairs as pairs
    inner join points using (app, problem, point)
    inner join points as reference on pairs.reference_point = reference.point
    left join name_ratios as ratios
        on pairs.axis = ratios.axis and pairs.point = ratios.point
    left join timed as mine on pairs.point = mine.point
    left join timed as its on pairs.reference_point = its.point
)

select * exclude (label) from final
order by app, problem, axis, point
