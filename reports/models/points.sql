-- One row per run that a figure of traffic may use, with the point of the sweep at which
-- it was made. Other than in `sweep_points` every combination of the axes is a point,
-- and a run without a completion time counts.
with

used as (
    select
        *,
        dense_rank() over (
            order by
                app,
                problem,
                rate_asked_mbit_s desc nulls first,
                rtt_asked_ms nulls first,
                buffer_bytes desc nulls first,
                queue_bytes,
                other_axes
        ) as point,
    from runs
    where is_valid and not is_warmup
),

final as (
    select
        run,
        app,
        problem,
        point,
        bool_or(is_baseline) over one_point as is_baseline,
        rtt_asked_ms,
        median(rtt_ms) over one_point as rtt_ms,
        rate_asked_mbit_s,
        -- as measured, if it was in every run
        coalesce(
            if(
                bool_and(is_rate_measured) over one_point,
                median(rate_mbit_s) over one_point,
                null
            ),
            rate_asked_mbit_s,
            median(rate_mbit_s) over one_point
        ) as rate_mbit_s,
        buffer_bytes,
        queue_bytes,
        loss,
        jitter_ms,
        jitter_share,
        links,
        congestion,
        hosts_per_site,
        ranks,
        ranks_per_host,
    from used
    window one_point as (partition by point)
)

select * from final
