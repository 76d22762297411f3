-- One row per application and problem: the run that is drawn, and the reason. It is the run at the
-- baseline whose completion time, or else first outcome, is nearest to the median; without any of
-- these, the first run. Of captures alone, those with the most traffic are drawn, as many as a page
-- has room for.
with

traffic as (
    select
        run,
        sum(wire_bytes) as wire_bytes,
    from host_totals
    group by run
),

-- Zeek's logs give flows without throughput.
with_traffic as (
    select run from host_totals
    union
    select run from flows
    where run not in (
        select run from table_rows
        where kind = 'throughput'
    )
),

-- Traffic of a run with a capture of grade D is not shown if there is another run.
grades as (
    select
        run,
        max(grade_rank) as worst_rank,
    from captures
    group by run
),

judged as (
    select
        run_outcomes.run,
        if(
            run_outcomes.outcome = 'completion_time',
            'completion time',
            run_outcomes.outcome
        ) as noun,
        run_outcomes.value is not null and run_outcomes.value >= 0 as is_known,
        abs(run_outcomes.value - outcome_baselines.value) as distance,
    from run_outcomes
    inner join outcome_baselines using (app, problem, outcome)
    qualify
        row_number() over (
            partition by run_outcomes.run
            order by run_outcomes.place, run_outcomes.outcome
        ) = 1
),

candidates as (
    select
        runs.app,
        runs.problem,
        runs.run,
        runs.completion_s,
        runs.start_ns,
        runs.stands_alone,
        coalesce(grades.worst_rank, 1) = 4 as is_doubtful,
        coalesce(traffic.wire_bytes, 0) as wire_bytes,
        case
            when runs.stands_alone then 'each capture by itself'
            when not runs.is_valid then 'one that was captured, as no run counts'
            when not runs.is_baseline
                then 'another, as none at the baseline has traffic and a ' || coalesce(
                    nullif(judged.noun, 'completion time'), 'time'
                )
            when not judged.is_known
                then 'the first by name, no ' || judged.noun || ' is known'
            when
                coalesce(grades.worst_rank, 1) < 4 and bool_or(
                    runs.is_used and runs.is_baseline and grades.worst_rank = 4
                ) over (partition by runs.app, runs.problem)
                then
                    'the baseline run nearest to the median ' || judged.noun
                    || ', those with a capture of grade D left out'
            else 'the baseline run nearest to the median ' || judged.noun
        end as because,
        row_number() over (
            partition by runs.app, runs.problem
            order by
                runs.is_used desc,
                runs.is_valid desc,
                runs.is_baseline desc,
                coalesce(grades.worst_rank, 1) = 4 asc,
                judged.distance asc nulls last,
                runs.run asc
        ) as place,
    from runs
    inner join with_traffic using (run)
    inner join judged using (run)
    left join grades on runs.run = grades.run
    left join traffic on runs.run = traffic.run
    where runs.is_alone
),

final as (
    select * exclude (stands_alone, is_doubtful, wire_bytes, place)
    from candidates
    where place = 1
    qualify
        not stands_alone
        or row_number() over (
            order by is_doubtful asc, wire_bytes desc, run asc
        ) <= 24
)

select * from final
