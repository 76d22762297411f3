-- One row per application, problem and point: messages between the sites, by the second,
-- and their sizes. A message counts if it began within the time of the run. Numbers are
-- lower bounds: writes that were queued together are one message.
with

grades as (
    select
        run,
        host,
        bool_and(has_content) as has_content,
        max(grade_rank) as worst_rank,
    from captures
    group by run, host
),

spans as (
    select
        run,
        min(start_ns) as start_ns,
        max(end_ns) as end_ns,
    from windows
    group by run
),

counted as (
    select
        messages.*,
        (spans.end_ns - spans.start_ns) / 1e9 as span_s,
        coalesce(grades.has_content, true) as has_content,
    from messages
    inner join point_runs using (run)
    inner join spans using (run)
    left join grades using (run, host)
    where
        messages.is_on_path
        and messages.first_ns between spans.start_ns and spans.end_ns
),

by_run as (
    select
        run,
        count(*) / any_value(span_s) as messages_s,
        -- unknown where one of them has no bound
        case when count(most_writes) = count(*) then sum(most_writes) end
        / any_value(span_s) as most_s,
    from counted
    where has_content and span_s > 0
    group by run
),

rates as (
    select
        point_runs.point,
        count(*) as runs,
        median(messages_s) as messages_s,
        min(messages_s) as messages_s_min,
        max(messages_s) as messages_s_max,
        case when count(most_s) = count(*) then median(most_s) end as messages_s_most,
    from by_run
    inner join point_runs using (run)
    group by point_runs.point
),

sizes as (
    select
        point_runs.point,
        count(*) as messages,
        sum(bytes) / count(*) as mean_bytes,
        quantile_disc(bytes, 0.1) as p10_bytes,
        quantile_disc(bytes, 0.5) as p50_bytes,
        quantile_disc(bytes, 0.9) as p90_bytes,
        quantile_disc(bytes, 0.99) as p99_bytes,
        max(bytes) as max_bytes,
        avg(is_end_guessed::integer) as guessed_share,
        avg((not is_at_sender)::integer) as far_share,
        avg(coalesce(merged_possible, true)::integer) as merged_share,
        coalesce(
            sum(bytes) filter (coalesce(merged_possible, true)) / sum(bytes), 0
        ) as merged_bytes_share,
    from counted
    inner join point_runs using (run)
    where has_content
    group by point_runs.point
),

-- hosts whose captures lack some packets, or are left out
doubts as (
    select
        point_runs.point,
        count(*) filter (has_content and worst_rank = 3)
            as doubtful_captures,
        count(*) filter (not has_content) as refused_captures,
    from grades
    inner join point_runs using (run)
    group by point_runs.point
),

final as (
    select
        points.* exclude (label),
        rates.* exclude (point),
        sizes.* exclude (point),
        coalesce(doubtful_captures, 0) as doubtful_captures,
        coalesce(refused_captures, 0) as refused_captures,
    from points
    inner join rates on points.point = rates.point
    inner join sizes on points.point = sizes.point
    left join doubts on points.point = doubts.point
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s,
        rounded(messages_s) as messages_s,
        rounded(messages_s_min) as messages_s_min,
        rounded(messages_s_max) as messages_s_max,
        rounded(messages_s_most) as messages_s_most,
        round(mean_bytes, 1) as mean_bytes,
        round(guessed_share, 6) as guessed_share,
        round(far_share, 6) as far_share,
        round(merged_share, 6) as merged_share,
        round(merged_bytes_share, 6) as merged_bytes_share
    ),
from final
order by app, problem, is_baseline desc, point
