-- The size of each application's problem at the baseline.
select
    app as key,
    max(
        coalesce(
            regexp_extract(problem, '(board|side|rows|tasks) (\d+)', 2)::integer,
            0
        )
    ) as ours,
from points
where is_baseline
group by app
