-- The distribution of the shown host's throughput in bins of 10 ms at the baseline.
with

steps as (
    select
        *,
        share - lag(share, 1, 0) over (
            partition by app, problem, direction order by mbit_s
        ) as step_share,
    from figure_throughput_cdf
    inner join main_problems using (app, problem)
    where
        is_baseline
        and bin_ms = 10
        and host in (select host from shown_hosts)
),

still as (
    select
        app,
        direction,
        max(share) as share,
    from steps
    where mbit_s < 0.001
    group by app, direction
),

-- the bins of N Queens that are not silent, by tenths of the largest throughput
bands as (
    select
        round(steps.mbit_s / most.mbit_s, 1) as band,
        sum(steps.step_share) as share,
    from steps
    cross join (
        select max(steps.mbit_s) as mbit_s
        from steps
        where steps.app = 'nqueens' and steps.direction = 'out'
    ) as most
    where
        steps.app = 'nqueens'
        and steps.direction = 'out'
        and steps.mbit_s >= 0.001
    group by band
)

select
    app as key,
    avg(share) as ours,
from still
where app in ('nqueens', 'ssor')
group by app
union all
select
    concat_ws(' ', app, direction),
    arg_max(mbit_s, step_share),
from steps
where app = 'jigsaw' and mbit_s > 0
group by app, direction
union all
select
    app,
    -- The shares of each of the two directions add up to 1.
    sum(step_share) filter (mbit_s between 20 and 50)
    / count(distinct direction),
from steps
where app = 'taskgraph'
group by app
union all
select
    'nqueens burst',
    arg_max(band, share),
from bands
