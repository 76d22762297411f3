-- Traffic of the shown host at the baseline. The problem of an application that takes longest is
-- compared with the paper's larger one, the next with the smaller one; LU's problems have the
-- paper's sizes, and each of its iterations sends the same and takes as long.
with

own as (
    select
        *,
        try_cast(regexp_extract(problem, 'side (\d+)', 1) as integer) as side,
        250 / try_cast(
            regexp_extract(problem, 'iterations (\d+)', 1) as integer
        ) as scale,
    from figure_totals
    where is_baseline
),

sized as (
    select
        * replace (
            if(app = 'ssor', in_mb * scale, in_mb) as in_mb,
            if(app = 'ssor', out_mb * scale, out_mb) as out_mb,
            if(app = 'ssor', completion_s * scale, completion_s) as completion_s
        ),
        if(
            app = 'ssor',
            case side when 36 then 'small' when 64 then 'large' end,
            list_extract(
                ['large', 'small'],
                dense_rank() over (partition by app order by completion_s desc)
            )
        ) as size,
    from own
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
