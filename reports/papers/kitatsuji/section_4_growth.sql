-- Amount, time and throughput of the larger problem over the smaller, both ways together.
with

known as (
    select
        split_part(key, ' ', 1) as app,
        split_part(key, ' ', 2) as size,
        split_part(key, ' ', 3) as name,
        ours,
    from kitatsuji_table_1
),

sized as (
    select
        app,
        size,
        sum(ours) filter (name in ('in_mb', 'out_mb')) as mb,
        sum(ours) filter (name = 'completion_s') as completion_s,
    from known
    group by app, size
),

grown as (
    select
        large.app,
        large.mb / small.mb as data,
        large.completion_s / small.completion_s as time,
        large.mb / large.completion_s / (small.mb / small.completion_s) as rate,
    from sized as large
    inner join sized as small using (app)
    where large.size = 'large' and small.size = 'small'
)

select
    concat_ws(' ', app, value) as key,
    ours,
from (unpivot grown on data, time, rate into name value value ours)
