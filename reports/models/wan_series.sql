-- Wide-area traffic per run and step, summed in four ways: one row per direction between
-- two places, per place that sends (`to_site` is null), per place that receives
-- (`from_site` is null), and of all together (both are null).
with

final as (
    select
        run,
        from_site,
        to_site,
        step,
        sum(packets)::bigint as packets,
        sum(wire_bytes)::bigint as wire_bytes,
        sum(wire_bytes) * 8e3 / any_value(step_ns) as mbit_s,
        bool_or(is_far_side) as is_far_side,
    from wan_traffic
    group by grouping sets (
        (run, step, from_site, to_site),
        (run, step, from_site),
        (run, step, to_site),
        (run, step)
    )
)

select * from final
