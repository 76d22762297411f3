-- What LambdaStream gets of the link over both paths, and what it leaves to others.
with

own as (
    select
        ours / (published / 100) as share_of_published,
        ours,
        split_part(values_here.key, ' ', 1) as path,
        replace(split_part(values_here.key, ' ', 2), '_', ' ') as direction,
    from paper_values as values_here
    inner join paper_items using (paper, item, key)
    where
        paper = 'evl'
        and item = 'throughput'
        and not ends_with(key, 'iperf_udp')
),

known as (
    select
        (select min(share_of_published) from own) as least,
        (select max(share_of_published) from own) as most,
        (
            select string_agg(distinct direction, ', ' order by direction desc)
            from own
            where ours is not null
        ) as directions,
        max(ours) filter (item = 'comparable') as comparable,
        max(ours) filter (item = 'saturated') as saturated,
        max(ours) filter (item = 'fairness') as fairness,
    from paper_values
    where paper = 'evl'
)

select
    nullif(
        concat_ws(
            ' ',
            format(
                '{}: transfers reach {:.0f} to {:.0f} % of a hundredth of the published'
                ' throughput ({}).',
                if(least >= 0.95, 'Yes', 'Not always'),
                100 * least,
                100 * most,
                directions
            ),
            format(
                'The routed path carries {:.2f} times what the switched one does.',
                comparable
            ),
            format(
                'Ten streams of files use {:.0f} % of the link.', 100 * saturated
            ),
            format(
                'A TCP flow beside a transfer gets {:.2f} times the throughput that it gets'
                ' beside a TCP transfer.',
                fairness
            )
        ),
        ''
    ) as ours,
from known
