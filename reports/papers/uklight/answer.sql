-- What latency, loss and jitter cost a message of 16 MB.
with

known as (
    select
        max(ours) filter (item = 'table 1' and key = '16 0 0') as plain_s,
        max(ours) filter (item = 'table 1' and key = '16 0 16') as far_s,
        max(ours) filter (item = 'table 1' and key = '16 1 0') as lossy_s,
        max(ours) filter (item = 'table 2' and key = '16 0.8 ms 16')
            as jittered_s,
    from paper_values
    where paper = 'uklight'
)

select
    nullif(
        concat_ws(
            ' ',
            format(
                'A message of 16 MB takes {:.1f} times as long with 16 ms of latency added.',
                far_s / plain_s
            ),
            format(
                'With 1 % of loss it takes {:.1f} times as long.',
                lossy_s / plain_s
            ),
            format(
                'Jitter of 0.8 ms adds {} to the time at 16 ms.',
                if(
                    jittered_s / far_s - 1 < 0.0005,
                    'nothing',
                    format('{:.1f} %', 100 * (jittered_s / far_s - 1))
                )
            )
        ),
        ''
    ) as ours,
from known
