-- One row per application, problem and point: messages per second between the sites, and their
-- sizes. A message counts if it began within the time of the run. Numbers are lower bounds: writes
-- that were queued together are one message.
with

pools as (
    select *
    from pool_runs
    where not is_shown_only
),

-- A run whose messages all began outside its time, or within a site, had none; unknown where a
-- capture of it is left out.
per_run as (
    select
        run,
        span_s,
        messages,
        most_writes,
    from message_sums
    union all by name
    select
        table_rows.run,
        any_value((run_spans.end_ns - run_spans.start_ns) / 1e9) as span_s,
        0 as messages,
        0 as most_writes,
    from table_rows
    inner join run_spans using (run)
    left join host_grades using (run, host)
    where
        table_rows.kind = 'messages'
        and run_spans.has_rate
        and table_rows.run not in (select run from message_sums)
    group by table_rows.run
    having bool_and(coalesce(host_grades.has_content, true))
),

rates as (
    select
        pools.point,
        pools.alone,
        median(messages / span_s) as messages_s,
        min(messages / span_s) as messages_s_min,
        max(messages / span_s) as messages_s_max,
        -- unknown where one of the runs has no bound
        case
            when count(most_writes) = count(*)
                then median(most_writes / span_s)
        end as messages_s_most,
    from per_run
    inner join pools using (run)
    where span_s > 0
    group by pools.point, pools.alone
),

sums as (
    select
        pools.point,
        pools.alone,
        count(*) as runs,
        if(count(*) = 1, any_value(run), null) as run,
        sum(messages)::bigint as messages,
        sum(bytes) / sum(messages) as mean_bytes,
        max(max_bytes) as max_bytes,
        sum(guessed) / sum(messages) as guessed_share,
        sum(far) / sum(messages) as far_share,
        sum(merged) / sum(messages) as merged_share,
        coalesce(sum(merged_bytes) / nullif(sum(bytes), 0), 0)
            as merged_bytes_share,
    from message_sums
    inner join pools using (run)
    group by pools.point, pools.alone
),

listed as (
    select
        pools.point,
        pools.alone,
        sizes.run,
        unnest(sizes.buckets) as bucket,
        unnest(sizes.tops) as top,
        unnest(sizes.messages) as count,
    from message_histogram as sizes
    inner join pools using (run)
),

-- Both directions are added up.
counted as (
    select
        {
            'point': point,
            'alone': alone
        } as series,
        run,
        bucket,
        max(top) as top,
        sum(count)::bigint as count,
    from listed
    group by all
),

sizes as (
    select
        unnest(series),
        min(value) filter (share >= 0.1) as p10_bytes,
        min(value) filter (share >= 0.5) as p50_bytes,
        min(value) filter (share >= 0.9) as p90_bytes,
        min(value) filter (share >= 0.99) as p99_bytes,
    from distribution('counted')
    group by series
),

-- numbers of captures that lack some packets, or are left out
doubts as (
    select
        pools.point,
        pools.alone,
        count(*) filter (has_content and worst_rank = 3)
            as doubtful_captures,
        count(*) filter (not has_content) as refused_captures,
    from host_grades
    inner join pools using (run)
    group by pools.point, pools.alone
),

payload as (
    select
        pools.point,
        pools.alone,
        sum(run_payload.udp_bytes)
        / nullif(sum(run_payload.payload_bytes), 0) as udp_share,
    from run_payload
    inner join pools using (run)
    group by pools.point, pools.alone
),

final as (
    select
        points.* exclude (label),
        sums.run,
        sums.runs,
        rates.* exclude (point, alone),
        sums.messages,
        sums.mean_bytes,
        sizes.p10_bytes,
        sizes.p50_bytes,
        sizes.p90_bytes,
        sizes.p99_bytes,
        sums.max_bytes,
        sums.* exclude (
            point, alone, run, runs, messages, mean_bytes, max_bytes
        ),
        coalesce(doubtful_captures, 0) as doubtful_captures,
        coalesce(refused_captures, 0) as refused_captures,
        payload.udp_share,
    from points
    inner join sums using (point)
    inner join sizes
        on
            sums.point = sizes.point
            and sums.alone is not distinct from sizes.alone
    left join rates
        on
            sums.point = rates.point
            and sums.alone is not distinct from rates.alone
    left join doubts
        on
            sums.point = doubts.point
            and sums.alone is not distinct from doubts.alone
    left join payload
        on
            sums.point = payload.point
            and sums.alone is not distinct from payload.alone
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
        round(merged_bytes_share, 6) as merged_bytes_share,
        round(udp_share, 6) as udp_share
    ),
from final
order by app, problem, is_baseline desc, point, run
