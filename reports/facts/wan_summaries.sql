-- One row per run and sum of directions as in `wan_rates`: octets within the time of the run,
-- mean, and quantiles and peak of the rate over that time, silence included. The rate at the
-- quantile q is exceeded for at most 1 - q of the time.
with

octets as (
    select
        run,
        from_site,
        to_site,
        sum(wire_bytes) filter (is_within)::bigint as wire_bytes,
        sum(wire_bytes)::bigint as all_bytes,
        bool_or(is_far_side) as is_far_side,
    from wan_traffic
    group by grouping sets (
        (run, from_site, to_site), (run, from_site), (run, to_site), (run)
    )
),

ordered as (
    select
        *,
        sum(held_ns) over (
            partition by run, from_site, to_site
            order by mbit_s desc
        ) as beyond_ns,
    from wan_rates
),

quantiles as (
    select
        ordered.run,
        ordered.from_site,
        ordered.to_site,
        max(mbit_s) filter (beyond_ns > above_ns(length_ns, 0.5)) as p50_mbit_s,
        max(mbit_s) filter (beyond_ns > above_ns(length_ns, 0.95))
            as p95_mbit_s,
        max(mbit_s) filter (beyond_ns > above_ns(length_ns, 0.99))
            as p99_mbit_s,
        max(mbit_s) as peak_mbit_s,
    from ordered
    inner join wan_steps using (run)
    group by ordered.run, ordered.from_site, ordered.to_site
),

final as (
    select
        octets.run,
        octets.from_site,
        octets.to_site,
        steps.step_ns,
        steps.length_ns,
        coalesce(octets.wire_bytes, 0) as wire_bytes,
        octets.all_bytes,
        octets.is_far_side,
        steps.is_doubtful,
        coalesce(octets.wire_bytes, 0) * 8e3 / steps.length_ns as mean_mbit_s,
        coalesce(quantiles.p50_mbit_s, 0) as p50_mbit_s,
        coalesce(quantiles.p95_mbit_s, 0) as p95_mbit_s,
        coalesce(quantiles.p99_mbit_s, 0) as p99_mbit_s,
        coalesce(quantiles.peak_mbit_s, 0) as peak_mbit_s,
    from octets
    inner join wan_steps as steps using (run)
    left join quantiles
        on
            octets.run = quantiles.run
            and octets.from_site is not distinct from quantiles.from_site
            and octets.to_site is not distinct from quantiles.to_site
)

select * from final
