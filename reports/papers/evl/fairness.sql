-- What a TCP flow gets beside a transfer, over what it gets beside one of TCP.
select
    'all' as key,
    median(beside_mbit_s / tcp_beside_tcp_mbit_s) as ours,
from figure_fairness
where transport = 'lambda' and coalesce(loss, 0) = 0
