-- One row per message between the sites (all, where there is one) that began within the time of its
-- run, in a capture whose grade allows claims on content.
select
    messages.*,
    run_spans.start_ns as run_start_ns,
    run_spans.end_ns as run_end_ns,
    run_spans.has_rate,
from messages
inner join run_spans using (run)
left join host_grades using (run, host)
where
    messages.is_on_path
    and messages.first_ns between run_spans.start_ns and run_spans.end_ns
    and coalesce(host_grades.has_content, true)
