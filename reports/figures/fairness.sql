-- One row per application, problem and point at which a TCP flow shared the path with a transfer:
-- what each got, and what TCP gets at such a point alone and beside another TCP transfer.
with

streams as (
    select
        points.* exclude (label),
        app_streams.transport,
        app_streams.mbit_s,
        app_streams.beside_mbit_s,
        -- what must be the same for two runs to be compared
        point_texts.network,
    from app_streams
    inner join point_runs using (run)
    inner join points using (point)
    inner join point_texts using (point)
),

known as (
    select
        network,
        median(mbit_s) filter (beside_mbit_s is null) as tcp_alone_mbit_s,
        median(beside_mbit_s) as tcp_beside_tcp_mbit_s,
    from streams
    where transport = 'tcp'
    group by network
),

measured as (
    select
        * exclude (network, mbit_s, beside_mbit_s),
        network,
        count(*) as streams,
        median(mbit_s) as transfer_mbit_s,
        median(beside_mbit_s) as beside_mbit_s,
        min(beside_mbit_s) as beside_mbit_s_min,
        max(beside_mbit_s) as beside_mbit_s_max,
    from streams
    where beside_mbit_s is not null
    group by all
),

final as (
    select
        measured.* exclude (network),
        known.tcp_alone_mbit_s,
        known.tcp_beside_tcp_mbit_s,
        beside_mbit_s / (beside_mbit_s + transfer_mbit_s) as beside_share,
        -- Jain: 1 if both get the same, 1/2 if one gets all
        pow(beside_mbit_s + transfer_mbit_s, 2)
        / (2 * (pow(beside_mbit_s, 2) + pow(transfer_mbit_s, 2)))
            as jain_index,
    from measured
    left join known using (network)
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s,
        round(transfer_mbit_s, 4) as transfer_mbit_s,
        round(beside_mbit_s, 4) as beside_mbit_s,
        round(beside_mbit_s_min, 4) as beside_mbit_s_min,
        round(beside_mbit_s_max, 4) as beside_mbit_s_max,
        round(tcp_alone_mbit_s, 4) as tcp_alone_mbit_s,
        round(tcp_beside_tcp_mbit_s, 4) as tcp_beside_tcp_mbit_s,
        round(beside_share, 6) as beside_share,
        round(jain_index, 6) as jain_index
    ),
from final
order by app, problem, is_baseline desc, point, transport
