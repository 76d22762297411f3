-- One row per run, direction of the answers, and side: the time from the end of a message to the
-- start of the next one in the other direction of its connection, `think` in the capture of the
-- host that answers, `wait` in that of the host that asked. Only connections between sites (all,
-- where there is one site).
with

ordered as (
    select
        messages.run,
        messages.host,
        messages.connection,
        messages.direction,
        epoch_ns(messages.first_time) as first_ns,
        lag(messages.direction) over one_connection as direction_before,
        lag(epoch_ns(messages.last_time)) over one_connection as last_before_ns,
    from stg_messages as messages
    window one_connection as (
        partition by messages.run, messages.host, messages.connection
        order by messages.first_time, messages.last_time, messages.direction
    )
),

turns as (
    select
        ordered.run,
        ordered.direction,
        case
            when flows.is_at_sender then 'think'
            when flows.is_at_receiver then 'wait'
        end as side,
        (ordered.first_ns - ordered.last_before_ns) / 1e9 as value,
    from ordered
    inner join flows using (run, host, connection, direction)
    inner join run_spans using (run)
    left join host_grades using (run, host)
    where
        ordered.direction_before <> ordered.direction
        and flows.is_on_path
        and ordered.first_ns between run_spans.start_ns and run_spans.end_ns
        and coalesce(host_grades.has_content, true)
),

-- Both sides may send at once: a message that begins before the other has ended is no answer to it.
counted as (
    select
        run,
        direction,
        side,
        bucket_of(value) as bucket,
        max(value) as top,
        count(*) as turns,
    from turns
    where side is not null and value >= 0
    group by all
),

crossed as (
    select
        run,
        direction,
        side,
        count(*) as crossed,
    from turns
    where side is not null and value < 0
    group by all
)

select
    counted.run,
    counted.direction,
    counted.side,
    list(counted.bucket order by counted.bucket) as buckets,
    list(counted.top order by counted.bucket) as tops,
    list(counted.turns order by counted.bucket) as turns,
    coalesce(any_value(crossed.crossed), 0) as crossed,
from counted
left join crossed using (run, direction, side)
group by counted.run, counted.direction, counted.side
