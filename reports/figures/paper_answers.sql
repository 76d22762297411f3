-- One row per paper of this experiment: what it asks, what it answers, and what was found here.
select
    asked.paper,
    asked.title,
    asked.question,
    asked.published,
    coalesce(given.ours, 'no run of this experiment answers it') as ours,
    asked.set_up_differs_in,
from paper_questions as asked
left join answers_here as given using (paper)
order by asked.paper
