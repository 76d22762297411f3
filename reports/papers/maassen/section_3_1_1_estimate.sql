-- Lightpaths for the peak of the most ranks: as the fewer predict it, over those that it needs.
with

counted as (
    select
        points.ranks,
        median(peaks.peak_mbit_s) as peak_mbit_s,
        max(points.ranks) over () as most,
        any_value(points.rate_asked_mbit_s) as lightpath_mbit_s,
    from figure_peak_by_ranks as peaks
    inner join points using (point)
    where
        points.app = 'modelcheck'
        and points.links = 1
        and points.variant is null
        and points.rate_asked_mbit_s = (
            select max(rate_asked_mbit_s)
            from points
            where app = 'modelcheck'
        )
    group by points.ranks
)

select
    'all' as key,
    ceil(
        sum(peak_mbit_s * ranks) filter (ranks < most)
        / sum(ranks * ranks) filter (ranks < most)
        * max(most)
        / max(lightpath_mbit_s)
    )
    / ceil(arg_max(peak_mbit_s, ranks) / max(lightpath_mbit_s)) as ours,
from counted
having count(*) > 2
