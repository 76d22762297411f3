-- One row per point and outcome: the medians of its value and of its cost over the runs that count.
-- The cost is null where the value is 0 in one of them.
select
    app,
    problem,
    point,
    outcome,
    any_value(unit) as outcome_unit,
    any_value(better) as better,
    any_value(place) as place,
    median("value") filter (is_used) as "value",
    if(min("value") filter (is_used) > 0, median(cost) filter (is_used), null) as cost,
    median(completion_s) filter (is_used) as completion_s,
    count(*) filter (is_used) as runs_used,
    count(*) filter (not is_used) as runs_left_out,
    string_agg(
        distinct left_out_because, '; '
        order by left_out_because
    )
    filter (not is_used) as left_out_because,
from run_outcomes
where not is_warmup
group by app, problem, point, outcome
