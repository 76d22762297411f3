-- Traffic of the shown host at the baseline. The problem of an application that takes longest
-- stands beside the larger of the paper, the next beside the smaller.
with

sized as (
    select
        *,
        list_extract(
            ['large', 'small'],
            dense_rank() over (partition by app order by completion_s desc)
        ) as size,
    from figure_totals
    where is_baseline
)

select
    concat_ws(' ', app, size, value) as key,
    ours,
from (
    unpivot sized
    on in_mb, in_mbit_s, out_mb, out_mbit_s, completion_s
    into name value value ours
)
where size is not null
