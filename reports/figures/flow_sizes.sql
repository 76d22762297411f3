-- One row per flow direction of the shown run of each application: payload and
-- duration. More than 2,000: one row per cell of 1/8 decade of size and 1/6 decade of
-- duration, with the number of flows in it.
with

chosen as (
    select
        shown_runs.app,
        shown_runs.problem,
        flows.*,
        count(*) over (partition by shown_runs.run) > 2000 as is_cell,
        -- a flow that the capture does not show from SYN to FIN or RST
        flows.start is distinct from 'syn'
        or flows."end" is distinct from 'fin'
        and flows."end" is distinct from 'rst' as is_cut,
    from flows
    inner join shown_runs using (run)
    where flows.is_counted and flows.protocol in ('tcp', 'udp')
),

keyed as (
    select
        *,
        case
            when not is_cell then connection || direction || host
            when payload_bytes > 0 and duration_ns > 0
                then
                    floor(log10(payload_bytes) * 8)
                    || '/'
                    || floor(log10(duration_ns) * 6)
            else (payload_bytes > 0) || '/' || (duration_ns > 0)
        end as cell,
    from chosen
),

final as (
    select
        app,
        problem,
        run,
        is_cell,
        count(*) as flows,
        if(is_cell, null, any_value(src_ip || ':' || src_port)) as source,
        if(is_cell, null, any_value(dst_ip || ':' || dst_port)) as destination,
        -- the middle of a cell is its geometric mean
        case
            when not is_cell then any_value(payload_bytes)::double
            when min(payload_bytes) = 0 then 0.0
            else round(exp(avg(ln(greatest(payload_bytes, 1)))), 1)
        end as payload_bytes,
        case
            when not is_cell then any_value(duration_ns) / 1e9
            when min(duration_ns) = 0 then 0.0
            else round(exp(avg(ln(greatest(duration_ns, 1)))) / 1e9, 9)
        end as duration_s,
        bool_or(is_cut) as is_cut,
        bool_or(not is_at_sender) as is_far_side,
        bool_or(
            wire_bytes is null
            and (run, host) not in (select (run, host) from zeek_sides)
        ) as is_of_zeek,
    from keyed
    group by app, problem, run, is_cell, cell
)

select * from final
order by
    app, problem, payload_bytes desc, duration_s desc, source, destination
