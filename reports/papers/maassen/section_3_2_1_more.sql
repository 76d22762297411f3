-- The completion time of a film with two lightpaths, over that with one.
select
    upper(regexp_extract(app, 'video(.*)', 1)) as key,
    median(completion_s) filter (links = 2)
    / median(completion_s) filter (is_baseline) as ours,
from figure_completion
where app in ('video1k', 'video2k') and axis = 'links'
group by app
