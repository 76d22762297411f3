-- The time of a call of each primitive in Awari, on the grid and on one cluster with as many ranks.
select
    own.primitive
    || if(own.placement is null, ' grid_tcp', ' cluster_tcp') as key,
    1e6 * sum(own.total_s) / sum(own.calls) as ours,
from figure_mpi_costs as own
inner join main_problems using (app, problem)
inner join points as base using (app, problem)
where
    own.app = 'awari'
    and base.is_baseline
    and own.variant is null
    and own.ranks is not distinct from base.ranks
    and (own.is_baseline or own.placement is not null)
group by own.primitive, own.placement
