-- One row per application, problem and point: what the shown host of each run received and sent,
-- and what all hosts sent; medians over the valid runs of the point.
with

own as (
    select
        flows.run,
        -- what a host without flows received and sent; unknown if the bytes of some flow are
        case
            when count(wire_bytes) = count(*) and count(shown_hosts.host) > 0
                then 0
        end as none,
        coalesce(
            sum(wire_bytes) filter (receiver = shown_hosts.host), none
        ) as in_bytes,
        coalesce(
            sum(wire_bytes) filter (sender = shown_hosts.host), none
        ) as out_bytes,
        sum(wire_bytes) as all_bytes,
        sum(packets) as all_packets,
        sum(new_payload_bytes(flows)) as data_bytes,
        any_value(shown_hosts.host) as host,
    from flows
    left join shown_hosts using (run)
    where is_counted
    group by flows.run
),

-- A packet with a stamp coarser than a bin passed before the next stamp.
coarse as (
    select
        run,
        max(resolution_ns) as resolution_ns,
    from coarse_stamps
    group by run
),

-- A capture alone lasts from its first packet to its last.
lengths as (
    select
        run_windows.run,
        if(
            runs.stands_alone and windows.end_ns is not null,
            (windows.end_ns - windows.start_ns) / 1e9,
            run_windows.length_s
        ) as length_s,
    from run_windows
    inner join runs using (run)
    left join shown_hosts using (run)
    left join windows
        on run_windows.run = windows.run and shown_hosts.host = windows.host
),

-- A time shorter than a bin has no rate.
spans as (
    select
        lengths.run,
        if(
            lengths.length_s * 1e9 < max(peak_bins.bin_ns),
            null,
            lengths.length_s + coalesce(max(coarse.resolution_ns), 0) / 1e9
        ) as length_s,
    from lengths
    left join peak_bins using (run)
    left join coarse using (run)
    group by lengths.run, lengths.length_s
),

by_point as (
    select
        point_runs.point,
        count(*) as runs_used,
        if(runs_used = 1, any_value(point_runs.run), null) as run,
        string_agg(distinct own.host, ', ' order by own.host) as host,
        median(runs.completion_s) as completion_s,
        median(own.in_bytes) as in_bytes,
        median(
            own.in_bytes / coalesce(nullif(runs.completion_s, 0), spans.length_s)
        ) as in_bytes_s,
        median(own.out_bytes) as out_bytes,
        median(
            own.out_bytes / coalesce(nullif(runs.completion_s, 0), spans.length_s)
        ) as out_bytes_s,
        median(own.all_bytes) as all_bytes,
        median(own.all_packets) as all_packets,
        median(own.data_bytes) as data_bytes,
    from point_runs
    inner join runs using (run)
    left join spans using (run)
    left join own using (run)
    group by point_runs.point
),

-- one row per application and problem
bases as (
    select
        points.app,
        points.problem,
        arg_min(by_point.all_bytes, by_point.point) as all_bytes,
        arg_min(by_point.all_packets, by_point.point) as all_packets,
        arg_min(by_point.data_bytes, by_point.point) as data_bytes,
    from points
    inner join by_point using (point)
    where points.is_baseline
    group by points.app, points.problem
),

final as (
    select
        points.* exclude (label),
        by_point.run,
        by_point.runs_used,
        by_point.host,
        round(by_point.in_bytes / 1e6, 6) as in_mb,
        rounded(by_point.in_bytes_s * 8e-6) as in_mbit_s,
        round(by_point.out_bytes / 1e6, 6) as out_mb,
        rounded(by_point.out_bytes_s * 8e-6) as out_mbit_s,
        round(by_point.all_bytes / 1e6, 6) as all_mb,
        by_point.all_packets::bigint as all_packets,
        round(by_point.data_bytes / 1e6, 6) as data_mb,
        round(by_point.completion_s, 4) as completion_s,
        round(by_point.all_bytes / bases.all_bytes - 1, 4) as bytes_change,
        round(by_point.all_packets / bases.all_packets - 1, 4)
            as packets_change,
        rounded(by_point.data_bytes / bases.data_bytes - 1) as data_change,
    from points
    inner join by_point on points.point = by_point.point
    left join bases
        on points.app = bases.app and points.problem = bases.problem
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s
    ),
from final
order by app, problem, is_baseline desc, point
