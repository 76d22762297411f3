-- One row per drawn value of a figure or table of a paper, with ours where there is one.
select
    items.paper,
    items.item,
    items.key,
    items.drawn ->> 'panel' as panel,
    items.drawn ->> 'x' as x,
    items.drawn ->> 'x_title' as x_title,
    coalesce(items.drawn ->> 'log', '') as log,
    items.unit,
    items.scale,
    rounded(items.published * items.scale) as published,
    -- A value of another quantity is not shown beside the paper's.
    if(items.aside = 'other quantity', null, rounded(own.ours)) as ours,
from paper_items as items
inner join experiment_papers using (paper)
left join paper_values as own
    on
        items.paper = own.paper
        and items.item = own.item
        and items.key = own.key
where items.drawn is not null and items.published is not null
order by items.paper, items.place
