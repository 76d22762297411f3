-- Frames a second by film and link: the Internet is the slowest rate, a lightpath that of the
-- baseline.
with

rated as (
    select
        *,
        regexp_extract(problem, 'format ([0-9]K)', 1) as format,
        min(rate_asked_mbit_s) over (partition by app) as slowest_mbit_s,
    from figure_frame_rates
),

own as (
    select
        format,
        frames_s,
        case
            when links = 2 then 'both'
            when is_baseline then 'lightpath'
            when rate_asked_mbit_s = slowest_mbit_s then 'internet'
        end as link,
    from rated
)

select
    concat_ws(' ', format, link) as key,
    median(frames_s) as ours,
from own
where link is not null
group by key
having key in (
    select items.key
    from paper_items as items
    where items.item = 'figures 6 to 8'
)
