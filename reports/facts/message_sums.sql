-- One row per run with counted messages: their number, their bytes, and how many are uncertain.
select
    run,
    case
        when bool_and(has_rate)
            then (any_value(run_end_ns) - any_value(run_start_ns)) / 1e9
    end as span_s,
    count(*) as messages,
    sum(bytes)::bigint as bytes,
    max(bytes) as max_bytes,
    -- unknown where one message has no bound
    case when count(most_writes) = count(*) then sum(most_writes)::bigint end
        as most_writes,
    count(*) filter (is_end_guessed) as guessed,
    count(*) filter (not is_at_sender) as far,
    count(*) filter (coalesce(merged_possible, true)) as merged,
    coalesce(
        sum(bytes) filter (coalesce(merged_possible, true)), 0
    )::bigint as merged_bytes,
from counted_messages
group by run
