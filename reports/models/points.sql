-- One row per point of the sweep: every combination of the axes at which a run was made,
-- asked and measured, with a number and a label by what differs from the baseline.
select
    point_axes.app,
    point_axes.problem,
    point_axes.point,
    point_texts.label,
    point_axes.* exclude (app, problem, point),
from point_axes
inner join point_texts using (point)
