-- One row per application, problem, point, direction and step of the distribution of the durations
-- of flows.
select
    points.*,
    steps.run,
    steps.direction,
    steps.value as duration_s,
    steps.* exclude (point, run, direction, quantity, value, alone),
from printed_points as points
inner join flow_steps as steps using (point)
where steps.quantity = 'duration'
order by app, problem, is_baseline desc, point, run, direction, duration_s
