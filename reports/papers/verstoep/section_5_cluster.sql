-- What the optimisations gain on one cluster, over what they gain on the grid: from the gain on the
-- grid, and from the grid over the cluster without them and with them.
with

known as (
    select
        (select max(ours) from verstoep_section_5_gain) as grid_gain,
        (select max(ours) from verstoep_figure_4) as without,
        (select max(ours) from verstoep_figure_7) as optimised,
)

select
    'all' as key,
    ((1 + grid_gain) * (1 + optimised) / without - 1)
    / nullif(grid_gain, 0) as ours,
from known
