-- The peak of model checking against the ranks: its exponent, and that of the most ranks as the
-- fewer predict it.
with

counted as (
    select
        ranks,
        median(peak_mbit_s) as peak_mbit_s,
        max(ranks) over () as most,
    from figure_peak_by_ranks
    where
        app = 'modelcheck'
        and links = 1
        and variant is null
        and rate_asked_mbit_s = (
            select max(rate_asked_mbit_s)
            from figure_peak_by_ranks
            where app = 'modelcheck'
        )
    group by ranks
),

-- through the origin: so much for each rank
fitted as (
    select
        regr_slope(ln(peak_mbit_s), ln(ranks)) as exponent,
        sum(peak_mbit_s * ranks) filter (ranks < most)
        / sum(ranks * ranks) filter (ranks < most) as per_rank,
        max(most) as most,
        arg_max(peak_mbit_s, ranks) as peak_mbit_s,
    from counted
    having count(*) > 2
)

select
    'exponent' as key,
    exponent as ours,
from fitted
union all
select
    'predicted',
    per_rank * most / peak_mbit_s,
from fitted
