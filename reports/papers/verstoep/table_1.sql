-- The time of a call of each primitive in Awari, on the grid and on one cluster.
select
    primitive || if(placement is null, ' grid_tcp', ' cluster_tcp') as key,
    1e6 * sum(total_s) / sum(calls) as ours,
from figure_mpi_costs
inner join main_problems using (app, problem)
where
    app = 'awari'
    and variant is null
    and (is_baseline or placement is not null)
group by primitive, placement
