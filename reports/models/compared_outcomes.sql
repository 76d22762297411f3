-- One row per run that counts and outcome, at the points where no run has an outcome of 0, as a
-- ratio to 0 means nothing.
select
    run_outcomes.app,
    run_outcomes.problem,
    run_outcomes.point,
    run_outcomes.outcome,
    run_outcomes.cost,
from run_outcomes
inner join point_outcomes using (app, problem, point, outcome)
where run_outcomes.is_used and point_outcomes.cost is not null
