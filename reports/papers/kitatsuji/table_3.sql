-- The rates at which the completion time crosses 1.1 and 1.5 times that at the baseline.
with

crossed as (
    select
        app,
        deterioration,
        median(estimate) as ours,
    from figure_thresholds
    inner join main_problems using (app, problem)
    where
        axis = 'rate'
        and (app, problem, coalesce(buffer_bytes, 0)) in (
            select (app, problem, coalesce(buffer_bytes, 0))
            from points
            where is_baseline
        )
    group by app, deterioration
)

-- Both ends of the paper's range are compared with one value of ours.
select
    concat_ws(' ', app, value) as key,
    ours,
from crossed
cross join (
    select unnest(['gradual_low', 'gradual_high', 'severe']) as value
) as ends
where starts_with(value, deterioration)
