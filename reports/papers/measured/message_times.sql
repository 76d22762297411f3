-- Seconds of a message of `pingpong`, one way, by the names of the runs that were kept: half of the
-- time of each repetition. It is up to 1 % more than the application measures, because it includes
-- start and end.
with

reported as (
    select
        *,
        regexp_extract(problem, 'message_bytes (\d+)', 1)::double as message_bytes,
        regexp_extract(problem, 'repetitions (\d+)', 1)::double as repetitions,
        regexp_extract(run, 'jitter_([\d.]+)(ms|us)', ['value', 'unit'])
            as jitter,
        coalesce(
            try_cast(regexp_extract(run, 'loss_([\d.]+)pct', 1) as double), 0
        ) as loss_percent,
    from figure_run_table
    where app = 'pingpong' and is_used
),

timed as (
    select
        *,
        coalesce(try_cast(jitter.value as double), 0)
        / if(jitter.unit = 'us', 1000, 1) as jitter_ms,
        round(
            rtt_asked_ms - (
                select min(base.rtt_asked_ms)
                from figure_run_table as base
            ),
            6
        ) as latency_ms,
    from reported
)

select
    message_bytes / 1048576 as message_mb,
    loss_percent,
    latency_ms,
    jitter_ms,
    case
        when jitter_ms = 0 then 0
        when latency_ms > 0 then round(jitter_ms / latency_ms, 6)
    end as jitter_fraction,
    rate_asked_mbit_s,
    median(rtt_measured_ms) as rtt_ms,
    buffer_bytes,
    median(completion_s / 2 / repetitions) as transfer_s,
from timed
group by all
