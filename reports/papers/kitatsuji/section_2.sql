-- The size of each application's problem at the baseline.
select
    app as key,
    max(
        try_cast(
            regexp_extract(problem, '(board|side|tasks) (\d+)', 2) as integer
        )
    ) as ours,
from points
where is_baseline and app in ('nqueens', 'jigsaw', 'ssor', 'taskgraph')
group by app
