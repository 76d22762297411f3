-- The share of Jigsaw's intervals that are close to the RTT.
select
    if(is_baseline, 'short', 'long') as key,
    any_value(near_rtt_share) as ours,
from figure_packet_intervals
inner join main_problems using (app, problem)
where
    app = 'jigsaw'
    and stream = 'data'
    and (is_baseline or rtt_asked_ms = 64.3)
    and (app, problem, buffer_bytes, rate_asked_mbit_s) in (
        select (app, problem, buffer_bytes, rate_asked_mbit_s)
        from points
        where is_baseline
    )
group by is_baseline
