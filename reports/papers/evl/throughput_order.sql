-- Disk to disk over memory to memory, by path.
with

named as (
    select
        split_part(key, ' ', 1) as path,
        split_part(key, ' ', 2) as way,
        ours,
    from evl_throughput
)

select
    path as key,
    max(ours) filter (way = 'disk_to_disk')
    / max(ours) filter (way = 'memory_to_memory') as ours,
from named
group by path
