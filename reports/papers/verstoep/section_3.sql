-- The least RTT of the flows between two sites at the baseline, from their captures.
select
    concat_ws(
        ' ',
        least(flows.sender_site, flows.receiver_site),
        greatest(flows.sender_site, flows.receiver_site)
    ) as key,
    min(flows.rtt_min_ns) / 1e6 as ours,
from flows
inner join runs using (run)
where
    runs.is_baseline
    and runs.is_used
    and runs.app = 'awari'
    and flows.is_counted
    and flows.is_between_sites
    and flows.rtt_min_ns > 0
group by key
