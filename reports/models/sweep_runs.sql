-- One row per outcome, run and axis whose line through the baseline contains the run: its slowdown,
-- which is how many times worse the outcome is. A line varies one axis and keeps the others at the
-- baseline; each size of the socket buffer makes a line of its own.
with

-- A queue size that follows from rate and RTT is not an axis.
queues as (
    select
        app,
        problem,
        rtt_asked_ms,
        rate_asked_mbit_s,
        buffer_bytes,
        other_axes,
        count(distinct queue_bytes) as queue_sizes,
    from runs
    group by all
),

compared as (
    select
        runs.*,
        runs.cost / outcome_baselines.cost as slowdown,
        runs.rtt_asked_ms is not distinct from baselines.rtt_asked_ms
            as has_baseline_rtt,
        runs.rate_asked_mbit_s is not distinct from baselines.rate_asked_mbit_s
            as has_baseline_rate,
        runs.buffer_bytes is not distinct from baselines.buffer_bytes
            as has_baseline_buffer,
        queues.queue_sizes <= 1
        or runs.queue_bytes is not distinct from baselines.queue_bytes
            as has_baseline_queue,
        runs.other_axes is not distinct from baselines.other_axes
            as has_baseline_path,
    from run_outcomes as runs
    inner join baselines using (app, problem)
    inner join outcome_baselines using (app, problem, outcome)
    inner join queues
        on
            runs.app = queues.app
            and runs.problem = queues.problem
            and runs.rtt_asked_ms is not distinct from queues.rtt_asked_ms
            and runs.rate_asked_mbit_s
            is not distinct from queues.rate_asked_mbit_s
            and runs.buffer_bytes is not distinct from queues.buffer_bytes
            and runs.other_axes is not distinct from queues.other_axes
),

axes as (
    select
        *,
        'rtt' as axis,
        rtt_asked_ms as x_asked,
        rtt_ms as x,
        is_rtt_measured as is_x_measured,
    from compared
    where has_baseline_rate and has_baseline_queue and has_baseline_path
    union all by name
    select
        *,
        'rate' as axis,
        rate_asked_mbit_s as x_asked,
        rate_mbit_s as x,
        is_rate_measured as is_x_measured,
    from compared
    where has_baseline_rtt and has_baseline_queue and has_baseline_path
),

counted as (
    select
        *,
        count(distinct coalesce(x_asked, -1))
            over (partition by app, problem, outcome, axis, buffer_bytes) as points,
    from axes
    where not is_warmup
),

final as (
    select
        app,
        problem,
        outcome,
        axis,
        buffer_bytes,
        has_baseline_buffer,
        x_asked,
        x,
        is_x_measured,
        run,
        repetition,
        completion_s,
        "value",
        cost,
        slowdown,
        status,
        reason,
        left_out_because,
        is_baseline,
        is_used,
    from counted
    where points >= 2
)

select * from final
