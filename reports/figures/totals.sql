-- One row per application, problem and point: what the shown host received and sent,
-- and what all hosts sent; medians over the valid runs of the point.
with

shown as (
    select
        flows.run,
        sum(wire_bytes) filter (receiver = shown_host.host) as in_bytes,
        sum(wire_bytes) filter (sender = shown_host.host) as out_bytes,
        sum(wire_bytes) as all_bytes,
        sum(packets) as all_packets,
    from flows
    cross join shown_host
    where is_counted
    group by flows.run
),

points as (
    select
        runs.app,
        runs.problem,
        runs.rtt_asked_ms,
        runs.rate_asked_mbit_s,
        runs.buffer_bytes,
        bool_or(runs.is_baseline) as is_baseline,
        median(runs.rtt_ms) as rtt_ms,
        -- as measured, if it was in every run
        coalesce(
            case
                when bool_and(runs.is_rate_measured)
                    then median(runs.rate_mbit_s)
            end,
            runs.rate_asked_mbit_s,
            median(runs.rate_mbit_s)
        ) as rate_mbit_s,
        count(*) as runs_used,
        median(runs.completion_s) as completion_s,
        median(in_bytes) as in_bytes,
        median(in_bytes / runs.completion_s) as in_bytes_s,
        median(out_bytes) as out_bytes,
        median(out_bytes / runs.completion_s) as out_bytes_s,
        median(all_bytes) as all_bytes,
        median(all_packets) as all_packets,
    from runs
    left join shown using (run)
    where runs.is_used
    group by
        runs.app,
        runs.problem,
        runs.rtt_asked_ms,
        runs.rate_asked_mbit_s,
        runs.buffer_bytes
),

compared as (
    select
        points.*,
        points.all_bytes / baselines.all_bytes - 1 as bytes_change,
        points.all_packets / baselines.all_packets - 1 as packets_change,
    from points
    left join points as baselines
        on
            points.app = baselines.app
            and points.problem = baselines.problem
            and baselines.is_baseline
),

final as (
    select
        app,
        problem,
        is_baseline,
        rtt_asked_ms,
        round(rtt_ms, 4) as rtt_ms,
        rate_asked_mbit_s,
        round(rate_mbit_s, 4) as rate_mbit_s,
        buffer_bytes,
        runs_used,
        (select host from shown_host) as host,
        round(in_bytes / 1e6, 4) as in_mb,
        round(in_bytes_s * 8e-6, 4) as in_mbit_s,
        round(out_bytes / 1e6, 4) as out_mb,
        round(out_bytes_s * 8e-6, 4) as out_mbit_s,
        round(all_bytes / 1e6, 4) as all_mb,
        all_packets::bigint as all_packets,
        round(completion_s, 4) as completion_s,
        round(bytes_change, 4) as bytes_change,
        round(packets_change, 4) as packets_change,
    from compared
)

select * from final
order by
    app, problem, is_baseline desc, rate_asked_mbit_s desc nulls first,
    rtt_asked_ms, buffer_bytes nulls last
