-- One row per message between the sites (any, where there is one) that began within the time of its
-- run, in a capture whose grade allows claims on content.
with

grades as (
    select
        run,
        host,
        bool_and(has_content) as has_content,
    from captures
    group by run, host
),

spans as (
    select
        run,
        min(start_ns) as start_ns,
        max(end_ns) as end_ns,
        -- captures alone last from the first packet to the last: what is
        -- shorter than a bin has no rate
        bool_or(
            covers <> 'first to last packet' or end_ns - start_ns >= bin_ns
        ) as has_rate,
    from windows
    group by run
)

select
    messages.*,
    spans.start_ns as run_start_ns,
    spans.end_ns as run_end_ns,
    spans.has_rate,
from messages
inner join spans using (run)
left join grades using (run, host)
where
    messages.is_on_path
    and messages.first_ns between spans.start_ns and spans.end_ns
    and coalesce(grades.has_content, true)
