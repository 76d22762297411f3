-- One row per application, problem, point, direction between two sites and class of size:
-- how long the transfers took and how fast they were. Classes begin at 1, 2 and 5 times
-- a power of ten.
with

digits as (
    select
        *,
        pow(10, floor(log10(bytes))) as decade,
        case
            when bytes >= 5 * decade then 5
            when bytes >= 2 * decade then 2
            else 1
        end as digit,
        if(duration_s > 0, bytes * 8e-6 / duration_s, null) as mbit_s,
    from transfers
    where bytes > 0
),

classes as (
    select
        point_runs.point,
        digits.source,
        digits.from_site,
        digits.to_site,
        (digits.digit * digits.decade)::bigint as low_bytes,
        (
            case digits.digit when 5 then 10 when 2 then 5 else 2 end
            * digits.decade
        )::bigint as high_bytes,
        count(distinct digits.run) as runs,
        count(*) as transfers,
        sum(digits.bytes)::bigint as bytes,
        min(duration_s) as duration_s_min,
        quantile_disc(duration_s, 0.1) as duration_s_p10,
        quantile_disc(duration_s, 0.5) as duration_s_p50,
        quantile_disc(duration_s, 0.9) as duration_s_p90,
        max(duration_s) as duration_s_max,
        quantile_disc(mbit_s, 0.1) as goodput_mbit_s_p10,
        quantile_disc(mbit_s, 0.5) as goodput_mbit_s_p50,
        quantile_disc(mbit_s, 0.9) as goodput_mbit_s_p90,
    from digits
    inner join point_runs using (run)
    group by all
),

final as (
    select
        points.* exclude (label),
        classes.* exclude (point),
    from points
    inner join classes on points.point = classes.point
)

select
    * replace (
        round(rtt_ms, 4) as rtt_ms,
        round(rate_mbit_s, 4) as rate_mbit_s,
        round(duration_s_min, 6) as duration_s_min,
        round(duration_s_p10, 6) as duration_s_p10,
        round(duration_s_p50, 6) as duration_s_p50,
        round(duration_s_p90, 6) as duration_s_p90,
        round(duration_s_max, 6) as duration_s_max,
        round(goodput_mbit_s_p10, 4) as goodput_mbit_s_p10,
        round(goodput_mbit_s_p50, 4) as goodput_mbit_s_p50,
        round(goodput_mbit_s_p90, 4) as goodput_mbit_s_p90
    ),
from final
order by
    app, problem, is_baseline desc, point, source, from_site, to_site,
    low_bytes
