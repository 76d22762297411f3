-- Transfers without loss and without other traffic, by path: over the baseline's link, and over
-- TeraGrid's own where its rate was swept.
with

named as (
    select
        if(own.rtt_asked_ms = 56.2, 'teragrid', 'cavewave') as path,
        case
            when own.transport = 'udp' then 'iperf_udp'
            when own.is_both_ways then 'bidirectional'
            else concat_ws('_', own.source, 'to', own.target)
        end as way,
        own.rate_asked_mbit_s,
        own.goodput_mbit_s,
    from figure_goodput as own
    inner join main_problems as main using (app)
    inner join points as base
        on main.app = base.app and main.problem = base.problem
    where
        own.app in ('lambda', 'udp')
        and own.rtt_asked_ms in (78.3, 56.2)
        and coalesce(own.loss, 0) = 0
        and own.hosts_per_site is not distinct from base.hosts_per_site
        and not own.has_tcp_beside
        and base.is_baseline
        and (
            own.rate_asked_mbit_s = base.rate_asked_mbit_s
            or (own.rtt_asked_ms = 56.2 and own.rate_asked_mbit_s = 96)
        )
        -- transfers that the full sweep sends more slowly on purpose
        and not contains(own.problem, 'start_mbit_s 20')
)

select
    concat_ws(' ', path, way) as key,
    median(goodput_mbit_s) / 1e3 as ours,
from named
group by path, way, rate_asked_mbit_s
qualify rate_asked_mbit_s = min(rate_asked_mbit_s) over (partition by path, way)
