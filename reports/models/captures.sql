-- One row per capture file and interface: what it may be used for, as a grade, and why.
-- The scale is in flowsweep.analysis.grades. A claim about gaps, about content (messages,
-- what held senders back) or about traffic rests only on captures that have it.
select
    facts.run,
    facts.host,
    facts.file,
    facts.interface,
    facts.snaplen,
    facts.packets,
    facts.wire_bytes,
    facts.first_ns,
    facts.last_ns,
    facts.dropped_kernel,
    facts.dropped_interface,
    coalesce(facts.super_packets, 0) as super_packets,
    coalesce(facts.time_regressions, 0) as time_regressions,
    facts.undecoded_packets,
    facts.is_truncated,
    grades.grade,
    grades.grade_rank,
    grades.reasons,
    grades.has_gaps,
    grades.has_content,
    grades.has_traffic,
from capture_facts as facts
inner join capture_grades as grades using (capture)
