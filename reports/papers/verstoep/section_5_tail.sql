-- The share of synchronisation in the rank time that the optimisations save Awari.
with

times as (
    select
        phase,
        avg(phase_s) filter (variant = 'none') as without_s,
        avg(phase_s) filter (is_baseline) as optimised_s,
    from figure_phase_times
    inner join main_problems using (app, problem)
    where app = 'awari' and placement is null
    group by phase
)

select
    'all' as key,
    sum(without_s - optimised_s) filter (phase = 'sync')
    / nullif(sum(without_s - optimised_s), 0) as ours,
from times
where phase in ('busy', 'sync')
