-- The peak of model checking against the ranks: its exponent, and that of the most ranks as the
-- fewer predict it.
with

counted as (
    select
        ranks,
        median(peak_mbit_s) as peak_mbit_s,
    from rank_peaks
    inner join main_problems using (app, problem)
    where app = 'modelcheck'
    group by ranks
),

most as (
    select arg_max(predicted_mbit_s / measured_mbit_s, ranks) as ours
    from figure_peak_prediction
    inner join main_problems using (app, problem)
    where app = 'modelcheck' and is_tried
    having count(*) > 1
)

select
    'exponent' as key,
    regr_slope(ln(peak_mbit_s), ln(ranks)) as ours,
from counted
having count(*) > 2
union all
select
    'predicted',
    ours,
from most
