-- What films send at full rate: over two lightpaths, or over one where that is enough.
select
    regexp_extract(problem, 'format ([0-9]K)', 1) as key,
    arg_max(
        mean_mbit_s / 1e3, rate_asked_mbit_s * coalesce(links, 1)
    ) as ours,
from figure_peak_by_ranks
where starts_with(app, 'video')
group by key
