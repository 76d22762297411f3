-- The share of intervals between packets back to back, by application and RTT.
select
    concat_ws(' ', app, if(is_baseline, 'short', 'long')) as key,
    any_value(back_to_back_share) as ours,
from figure_packet_intervals
inner join main_problems using (app, problem)
where
    stream = 'data'
    and (
        is_baseline and app in ('nqueens', 'jigsaw')
        or app = 'nqueens'
        and rtt_asked_ms = 32.3
        and (app, problem, buffer_bytes, rate_asked_mbit_s) in (
            select (app, problem, buffer_bytes, rate_asked_mbit_s)
            from points
            where is_baseline
        )
    )
group by app, is_baseline
