-- The time of a call of each primitive in Awari at the baseline.
select
    primitive || ' grid_tcp' as key,
    1e6 * sum(total_s) / sum(calls) as ours,
from figure_mpi_costs
where app = 'awari' and is_baseline
group by primitive
