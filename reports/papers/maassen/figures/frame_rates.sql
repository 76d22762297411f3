-- One row per application, problem and point whose transfers are frames: how many of them arrive at
-- another site in a second.
with

by_run as (
    select
        runs.point,
        transfers.run,
        count(*) as frames,
        median(transfers.bytes) as frame_bytes,
        sum(transfers.bytes) as bytes,
        max(transfers.end_s) - min(transfers.end_s) as span_s,
    from transfers
    inner join runs using (run)
    where
        runs.is_used
        and transfers.source = 'application'
        and transfers.from_site <> transfers.to_site
        and json_extract(runs.parameters, '$.frames') is not null
    group by runs.point, transfers.run
    having count(*) > 1 and span_s > 0
),

final as (
    select
        points.*,
        count(*) as runs,
        sum(by_run.frames)::bigint as frames,
        median(by_run.frame_bytes)::bigint as frame_bytes,
        -- There is one interval fewer than frames.
        round(median((by_run.frames - 1) / by_run.span_s), 4) as frames_s,
        round(min((by_run.frames - 1) / by_run.span_s), 4) as frames_s_min,
        round(max((by_run.frames - 1) / by_run.span_s), 4) as frames_s_max,
        round(sum(by_run.bytes) * 8e-6 / sum(by_run.span_s), 4) as goodput_mbit_s,
    from by_run
    inner join printed_points as points using (point)
    group by all
)

select * from final
order by app, problem, is_baseline desc, point
