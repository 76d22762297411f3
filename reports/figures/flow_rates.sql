-- One row per application, problem, point, direction and step of the distribution of the rates
-- of flows.
select
    points.* exclude (label) replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
    steps.run,
    steps.direction,
    steps.value as mbit_s,
    steps.* exclude (point, run, direction, quantity, value, alone),
from points
inner join flow_steps as steps using (point)
where steps.quantity = 'rate'
order by app, problem, is_baseline desc, point, run, direction, mbit_s
