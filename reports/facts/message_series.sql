-- One row per run: its messages that count, by the step of its time in which they began. A step is
-- a power of ten of ns, so that those of a long run hold whole ones of a short one; a run has 1,000
-- at most.
with

sized as (
    select
        run,
        run_end_ns - run_start_ns as length_ns,
        pow(10, ceil(log10(greatest(length_ns, 1000) / 1000.0) - 1e-9))::bigint
            as step_ns,
        (first_ns - run_start_ns) // step_ns as step,
        bytes,
    from counted_messages
),

counted as (
    select
        run,
        length_ns,
        step_ns,
        step,
        count(*) as messages,
        sum(bytes)::bigint as bytes,
    from sized
    group by all
)

select
    run,
    any_value(length_ns) as length_ns,
    any_value(step_ns) as step_ns,
    list(step order by step) as steps,
    list(messages order by step) as messages,
    list(bytes order by step) as bytes,
from counted
group by run
