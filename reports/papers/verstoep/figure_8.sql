-- What a rank sends with the five optimisations, over what it sends without.
select
    'all' as key,
    max(ours) filter (key = 'core optimised')
    / max(ours) filter (key = 'core') as ours,
from verstoep_figures_3_5_and_8
having ours is not null
