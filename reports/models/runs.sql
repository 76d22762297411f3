-- One row per run: its point in the sweep, and whether a median may use it.
with

renamed as (
    select
        ---------- names
        run,
        coalesce(app, experiment, 'application') as app,
        -- {"n": 14} is read as "n 14"
        replace(translate(problem, '{}"', ''), ': ', ' ') as own_problem,
        compute,
        repetition,
        block,
        ---------- the point, as asked; as measured where nothing was asked
        coalesce(rtt_asked_ns, rtt_measured_ns) / 1e6 as rtt_asked_ms,
        coalesce(rate_asked_bit_s, rate_measured_bit_s) / 1e6
            as rate_asked_mbit_s,
        queue_bytes,
        buffer_bytes,
        loss,
        jitter_ns / 1e6 as jitter_ms,
        jitter_share,
        links,
        congestion,
        hosts_per_site,
        ranks,
        ranks_per_host,
        -- all axes but RTT, rate, queue and buffer: a line keeps them as at the baseline
        concat_ws(
            ' ',
            coalesce(loss::varchar, '-'),
            coalesce(jitter_ns::varchar, '-'),
            coalesce(jitter_share::varchar, '-'),
            coalesce(links::varchar, '-'),
            coalesce(congestion, '-'),
            coalesce(hosts_per_site::varchar, '-'),
            coalesce(ranks::varchar, '-'),
            coalesce(ranks_per_host::varchar, '-')
        ) as other_axes,
        ---------- the point, as measured; as asked where nothing was measured
        coalesce(rtt_measured_ns, rtt_asked_ns) / 1e6 as rtt_ms,
        coalesce(rate_measured_bit_s, rate_asked_bit_s) / 1e6 as rate_mbit_s,
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
        -- a person's own captures need no run.json; a run of a plan does
        coalesce(status, 'valid') = 'valid'
        or status = 'no record' and not coalesce(planned, false) as is_valid,
        coalesce(completion_s > 0, false) as is_timed,
        rtt_measured_ns is not null as is_rtt_measured,
        rate_measured_bit_s is not null as is_rate_measured,
    from stg_runs
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
    from renamed
),

-- Without a flag the baseline is the mildest point: least RTT, highest rate, largest
-- buffer and queue, least loss and jitter; of several such the one with most runs.
-- Null stands for "no limit" and is the mildest of all.
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
                rtt_asked_ms asc nulls first,
                rate_asked_mbit_s desc nulls first,
                buffer_bytes desc nulls first,
                queue_bytes desc nulls first,
                coalesce(loss, 0) asc,
                coalesce(jitter_ms, 0) asc,
                runs_there desc,
                other_axes asc
        ) as mildest_place,
    from placed
    group by app, problem
),

final as (
    select
        placed.* exclude (place, runs_there),
        case
            when has_flag then is_flagged
            else place is not distinct from mildest_place
        end as is_baseline,
        is_valid and is_timed and not is_warmup as is_used,
    from placed
    inner join mildest using (app, problem)
)

select * exclude (is_flagged, own_problem) from final
