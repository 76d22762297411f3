-- One row per run: its point in the sweep, and whether a median may use it. `problem` is a label of
-- its `parameters`, which are JSON. If no run belongs to a sweep, they are captures alone: nothing
-- shows that one repeats another, so that each stands alone, as an application with the name of the
-- run.
with

renamed as (
    select
        ---------- names
        stg_runs.run,
        not bool_or(
            run_axes.has_axes
            or problem is not null
            or planned is not null
            or repetition is not null
            or baseline is not null
            or coalesce(warmup, false)
        ) over () as stands_alone,
        if(
            stands_alone,
            stg_runs.run,
            coalesce(app, experiment, 'application')
        ) as app,
        try_cast(problem as json) as own_parameters,
        -- {"n": 14} is read as "n 14"
        replace(translate(problem, '{}"', ''), ': ', ' ') as own_problem,
        compute,
        repetition,
        block,
        ---------- the point, see `run_axes`
        run_axes.* exclude (run, has_axes),
        ---------- outcome
        epoch_ns(start) as start_ns,
        epoch_ns("end") as end_ns,
        -- the application's own clock, without the start-up of the ranks
        epoch_ns(try_cast(
            json_extract_string(json, '$.application.start') as timestamptz_ns
        )) as work_start_ns,
        epoch_ns(try_cast(
            json_extract_string(json, '$.application.end') as timestamptz_ns
        )) as work_end_ns,
        completion_s,
        coalesce(status, 'valid') as status,
        reason,
        emulator_late_p99_ns / 1e3 as emulator_late_p99_us,
        emulator_dropped,
        ---------- booleans
        coalesce(baseline, false) as is_flagged,
        coalesce(warmup, false) as is_warmup,
        -- A user's own captures need no run.json; a planned run does.
        coalesce(status, 'valid') = 'valid'
        or status = 'no record' and not coalesce(planned, false) as is_valid,
        coalesce(completion_s > 0, false) as is_timed,
        is_timed
        or len(list_filter(coalesce(outcomes, []), lambda one: one."value" >= 0)) > 0
            as is_judged,
        -- Else its captures contain another application's packets, too.
        run_axes.beside_app is null as is_alone,
    from stg_runs
    inner join run_axes on stg_runs.run = run_axes.run
),

-- A run without a record belongs to the problem of its application, if there is one.
named as (
    select
        *,
        case
            when own_problem is not null then own_problem
            when count(distinct own_problem) over (partition by app) = 1
                then max(own_problem) over (partition by app)
            else ''
        end as problem,
        case
            when own_problem is not null then own_parameters
            when count(distinct own_problem) over (partition by app) = 1
                then max(own_parameters) over (partition by app)
        end as parameters,
    from renamed
),

-- Without a flag the baseline is the mildest point: least RTT, highest rate, largest buffer and
-- queue, least loss and jitter; if several are, the one with the most runs. Null stands for "no
-- limit" and is the mildest of all.
placed as (
    select
        *,
        (
            rtt_asked_ms,
            rate_asked_mbit_s,
            buffer_bytes,
            queue_bytes,
            other_axes
        ) as place,
        count(*) over (partition by app, problem, place) as runs_there,
    from named
),

mildest as (
    select
        app,
        problem,
        bool_or(is_flagged) as has_flag,
        first(
            place
            order by
                hardness asc,
                runs_there desc,
                other_axes asc
        ) as mildest_place,
    from placed
    group by app, problem
),

final as (
    select
        placed.* exclude (place, runs_there, hardness),
        case
            when has_flag then is_flagged
            else place is not distinct from mildest_place
        end as is_baseline,
        is_valid and is_judged and not is_warmup as is_used,
        dense_rank() over (
            order by
                app,
                problem,
                rate_asked_mbit_s desc nulls first,
                rtt_asked_ms nulls first,
                buffer_bytes desc nulls first,
                queue_bytes,
                other_axes
        ) as point,
    from placed
    inner join mildest using (app, problem)
)

select * exclude (is_flagged, own_problem, own_parameters) from final
