-- One row per application and problem: the point that all others are compared with.
with

-- invalid runs only where there are no others, as in point_axes
chosen as (
    select
        *,
        is_valid and not is_warmup as is_known_well,
        bool_or(is_known_well) over (partition by app, problem) as has_known,
    from runs
    where is_baseline
),

final as (
    select
        app,
        problem,
        ---------- the point
        median(rtt_ms) as rtt_ms,
        -- the measured rate, if every run has one
        coalesce(
            case
                when bool_and(is_rate_measured) then median(rate_mbit_s)
            end,
            any_value(rate_asked_mbit_s),
            median(rate_mbit_s)
        ) as rate_mbit_s,
        any_value(rtt_asked_ms) as rtt_asked_ms,
        any_value(rate_asked_mbit_s) as rate_asked_mbit_s,
        any_value(queue_bytes) as queue_bytes,
        any_value(buffer_bytes) as buffer_bytes,
        any_value(loss) as loss,
        any_value(jitter_ms) as jitter_ms,
        any_value(other_axes) as other_axes,
        ---------- completion time there
        median(completion_s) filter (is_used) as completion_s,
        stddev_samp(completion_s) filter (is_used)
        / avg(completion_s) filter (is_used) as variation,
        count(*) filter (is_used) as runs_used,
    from chosen
    where is_known_well or not has_known
    group by app, problem
)

select * from final
