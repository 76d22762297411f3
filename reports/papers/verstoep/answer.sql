-- How far Awari on the grid is from one cluster, and what the optimisations bring.
with

known as (
    select
        max(ours) filter (item = 'figure 7') as farther,
        max(ours) filter (item = 'section 5 gain') as gain,
        arg_max(key, ours) filter (item = 'section 5 parts') as largest,
        max(ours) filter (item = 'section 5 parts') as largest_share,
        max(ours) filter (item = 'section 5 cluster') as on_cluster,
    from paper_values
    where paper = 'verstoep'
)

select
    nullif(
        concat_ws(
            ' ',
            format(
                'With all five optimisations Awari takes {} on one cluster with as'
                ' many ranks, {}.',
                case
                    when farther >= 0.005
                        then format('{:.0f} % longer on the grid than', 100 * farther)
                    when farther <= -0.005
                        then format('{:.0f} % less time on the grid than', -100 * farther)
                    when farther is not null then 'as long on the grid as'
                end,
                if(farther <= 0.15, 'as in the paper', 'far from the 15 % of the paper')
            ),
            if(
                gain < 0.005,
                'Without any of them it takes no longer than with all.',
                format(
                    'Without any of them it takes {:.0f} % longer than with all; {} accounts for'
                    ' the largest part of that, {:.0f} %.',
                    100 * gain,
                    case largest
                        when 'no-tree' then 'tree-based synchronisation'
                        when 'no-flush' then 'autonomous flushing'
                        when 'no-rings' then 'a ring for each destination'
                        when 'no-polling' then 'tuned polling'
                        when 'no-large' then 'larger messages'
                    end,
                    100 * largest_share
                )
            ),
            format(
                'The gain is {:.1f} times as large on one cluster as on the grid.',
                on_cluster
            )
        ),
        ''
    ) as ours,
from known
