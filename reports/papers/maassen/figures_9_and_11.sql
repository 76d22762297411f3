-- The mean number of transfers to VU at once, over the Internet and with a lightpath, and for how
-- many of the ranks there the raster has a row.
with

active as (
    select
        is_baseline,
        rate_mbit_s,
        avg(mean_active) as mean_active,
    from figure_transfer_activity
    where app = 'supernova' and role = 'receiving' and place = 'vu'
    group by is_baseline, rate_mbit_s
)

select
    'vu' as key,
    arg_min(mean_active, rate_mbit_s)
    / nullif(max(mean_active) filter (is_baseline), 0) as ours,
from active
union all
select
    'raster',
    count(distinct figure_transfer_raster.rank)
    / nullif(count(distinct app_ranks.rank), 0),
from app_ranks
inner join point_runs using (run)
inner join points using (point)
left join figure_transfer_raster using (run, rank)
where
    points.app = 'supernova' and points.is_baseline and app_ranks.site = 'vu'
having count(figure_transfer_raster.rank) > 0
