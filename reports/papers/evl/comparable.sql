-- Throughput over the shorter path, divided by that over the longer one: memory to memory or, for
-- files, disk to disk.
with

paired as (
    select
        split_part(key, ' ', 2) as way,
        max(ours) filter (starts_with(key, 'teragrid'))
        / max(ours) filter (starts_with(key, 'cavewave')) as ours,
    from evl_throughput
    group by way
)

select
    'all' as key,
    ours,
from paired
where way in ('memory_to_memory', 'disk_to_disk') and ours is not null
order by way desc
limit 1
