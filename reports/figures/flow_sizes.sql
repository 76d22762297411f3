-- One row per flow direction of the runs that count: payload and duration, and the share of the
-- flows of its point and direction that are at most as large. For a run with more than 2,000 of
-- them, or an application with more than 50,000: one row per cell of 1/8 decade of size and 1/6
-- decade of duration, with the number of flows in it.
with

chosen as (
    select
        pool_runs.point,
        pool_runs.alone,
        flows.*,
        count(*) over (partition by flows.run) > 2000
        or count(*) over (partition by points.app, points.problem) > 50000
            as is_cell,
        flows.is_begun_before or flows.is_open as is_cut,
    from flows
    inner join pool_runs using (run)
    inner join points using (point)
    where flows.is_counted and flows.protocol in ('tcp', 'udp')
),

keyed as (
    select
        *,
        case
            when not is_cell then connection || direction || host
            -- values of 0, and those that Zeek lacks, have cells of their own
            else
                log_class(payload_bytes, 8) || '/' || log_class(duration_ns, 6)
        end as cell,
    from chosen
),

cells as (
    select
        point,
        alone,
        run,
        direction,
        is_cell,
        count(*) as flows,
        if(is_cell, null, any_value(src_ip || ':' || src_port)) as source,
        if(is_cell, null, any_value(dst_ip || ':' || dst_port)) as destination,
        -- A cell is represented by the geometric mean of its flows.
        case
            when not is_cell then any_value(payload_bytes)::double
            when min(payload_bytes) = 0 then 0.0
            else round(exp(avg(ln(nullif(payload_bytes, 0)))), 1)
        end as payload_bytes,
        case
            when not is_cell then any_value(duration_ns) / 1e9
            when min(duration_ns) = 0 then 0.0
            else round(exp(avg(ln(nullif(duration_ns, 0)))) / 1e9, 9)
        end as duration_s,
        bool_or(is_cut) as is_cut,
        count(*) filter (is_cut) as censored_flows,
        bool_or(not is_at_sender) as is_far_side,
        bool_or(
            wire_bytes is null
            and (run, host) not in (select (run, host) from zeek_sides)
        ) as is_of_zeek,
    from keyed
    group by point, alone, run, direction, is_cell, cell
),

-- the share at the size of each row, as exact as the rows are
counted as (
    select
        {
            'point': point,
            'alone': alone,
            'direction': direction
        } as series,
        run,
        payload_bytes as bucket,
        payload_bytes as top,
        sum(flows)::bigint as count,
    from cells
    where payload_bytes is not null
    group by all
),

final as (
    select
        cells.* exclude (alone),
        steps.share,
        steps.share_low,
        steps.share_high,
        steps.runs,
        steps.of_count as of_flows,
    from cells
    left join distribution('counted') as steps
        on
            cells.point = (steps.series).point
            and cells.alone is not distinct from (steps.series).alone
            and cells.direction = (steps.series).direction
            and cells.payload_bytes = steps.value
)

select
    points.*,
    final.* exclude (point),
from printed_points as points
inner join final using (point)
order by
    app, problem, is_baseline desc, point, run, payload_bytes desc, duration_s desc,
    source, destination
