-- One row per point of the sweep: every combination of axis values at which a run was made,
-- configured and measured, with a number and a label of the differences from the baseline.
select
    point_axes.app,
    point_axes.problem,
    point_axes.point,
    point_texts.label,
    point_axes.* exclude (app, problem, point),
from point_axes
inner join point_texts using (point)
