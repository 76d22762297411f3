-- One row per application and problem: the run that is drawn. The one at the baseline
-- whose completion time is nearest to the median; without times, the first.
with

with_traffic as (
    select distinct run from host_traffic
),

-- traffic of a run with a capture of grade D is not shown if there is another
grades as (
    select
        run,
        max(grade_rank) as worst_rank,
    from captures
    group by run
),

candidates as (
    select
        runs.app,
        runs.problem,
        runs.run,
        runs.completion_s,
        runs.start_ns,
        row_number() over (
            partition by runs.app, runs.problem
            order by
                runs.is_used desc,
                runs.is_baseline desc,
                runs.is_valid desc,
                coalesce(grades.worst_rank, 1) = 4 asc,
                abs(runs.completion_s - baselines.completion_s) asc nulls last,
                runs.run asc
        ) as place,
    from runs
    inner join with_traffic using (run)
    left join baselines using (app, problem)
    left join grades on runs.run = grades.run
),

final as (
    select * exclude (place)
    from candidates
    where place = 1
)

select * from final
