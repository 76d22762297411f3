-- Memory to memory over the shorter path, over that over the longer one.
select
    'all' as key,
    max(ours) filter (key = 'teragrid memory_to_memory')
    / max(ours) filter (key = 'cavewave memory_to_memory') as ours,
from evl_throughput
