-- The share of the baseline's link that several streams get together.
select
    'all' as key,
    median(link_share) as ours,
from figure_goodput
where
    app = 'lambda'
    and is_baseline
    and streams > runs
    and not is_both_ways
    and not has_tcp_beside
having count(*) > 0
