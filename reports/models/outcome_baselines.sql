-- One row per application, problem and outcome: the medians of its value and of its cost at the
-- baseline, over the runs that count. The cost is null where the value is 0 in one of them.
select
    app,
    problem,
    outcome,
    any_value(unit) as unit,
    any_value(better) as better,
    any_value(place) as place,
    median("value") filter (is_used and is_baseline) as "value",
    if(
        min("value") filter (is_used and is_baseline) > 0,
        median(cost) filter (is_used and is_baseline),
        null
    ) as cost,
    count(*) filter (is_used and is_baseline) as runs_used,
from run_outcomes
group by app, problem, outcome
