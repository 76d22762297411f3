-- One row per run and outcome of its application and problem: the values by which the run is
-- judged. The completion time comes first; where no run reports an outcome, it is the only one.
-- `cost` grows as the outcome gets worse: where more is better, it is 1/value. A value of 0 has no
-- cost, because a ratio to it means nothing.
with

listed as (
    select
        run,
        0 as place,
        'completion_time' as outcome,
        's' as unit,
        'less' as better,
        completion_s as value,
    from stg_runs
    where completion_s is not null
    union all by name
    select
        run,
        place,
        outcomes[place]."name" as outcome,
        outcomes[place].unit as unit,
        outcomes[place].better as better,
        outcomes[place]."value" as value,
    from (
        select
            run,
            outcomes,
            unnest(range(1, len(outcomes) + 1)) as place,
        from stg_runs
    )
),

named as (
    select
        runs.app,
        runs.problem,
        coalesce(listed.outcome, 'completion_time') as outcome,
        coalesce(any_value(listed.unit), 's') as unit,
        coalesce(any_value(listed.better), 'less') as better,
        coalesce(min(listed.place), 0) as place,
    from runs
    left join listed using (run)
    group by runs.app, runs.problem, listed.outcome
    -- The row of runs without an outcome is kept only if no run has one.
    qualify
        listed.outcome is not null
        or count(*) over (partition by runs.app, runs.problem) = 1
),

valued as (
    select
        runs.*,
        named.outcome,
        named.unit,
        named.better,
        named.place,
        listed.value,
        case
            when listed.value <= 0 then null
            when named.better = 'more' then 1 / listed.value
            else listed.value
        end as cost,
    from runs
    inner join named using (app, problem)
    left join listed
        on runs.run = listed.run and named.outcome = listed.outcome
),

final as (
    select
        * exclude (is_used),
        is_valid
        and not is_warmup
        and coalesce(
            cost > 0 or ("value" = 0 and outcome != 'completion_time'), false
        ) as is_used,
        case
            when not is_valid then coalesce(reason, status)
            when "value" is null then 'no value'
            else 'a value of ' || printf('%g', "value")
        end as left_out_because,
    from valued
)

select * from final
