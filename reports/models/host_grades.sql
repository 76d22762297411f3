-- One row per run and host: its worst grade, and what the grades of all files and interfaces of
-- its capture allow.
select
    run,
    host,
    bool_and(has_gaps) as has_gaps,
    bool_and(has_content) as has_content,
    bool_and(has_delays) as has_delays,
    max(grade_rank) as worst_rank,
    arg_max(grade, (grade_rank, grade)) as worst_grade,
from captures
group by run, host
