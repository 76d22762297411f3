-- One row per application, problem, point, direction and step of the distribution of the rates
-- of flows.
select
    points.*,
    steps.run,
    steps.direction,
    steps.value as mbit_s,
    steps.* exclude (point, run, direction, quantity, value, alone),
from printed_points as points
inner join flow_steps as steps using (point)
where steps.quantity = 'rate'
order by app, problem, is_baseline desc, point, run, direction, mbit_s
