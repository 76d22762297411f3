-- One row per run with times that are far from those of most of its flows. Times from `low_ns` to
-- `high_ns` are valid: the difference of any two fits into 64 bits. Other times, such as those of a
-- wrong clock or a flipped bit, are in no rate. Current parsers leave them out and count them.
with

flow_times as (
    select
        null::varchar as run,
        null::timestamptz_ns as first_time,
        null::timestamptz_ns as last_time
    where false
    union all by name
    select * from file_flows
),

capture_times as (
    select
        null::varchar as run,
        null::timestamptz_ns as first_time,
        null::timestamptz_ns as last_time
    where false
    union all by name
    select * from file_captures
),

-- The extreme values at both ends mean infinity and have no ns.
times as (
    select
        run,
        true as is_flow,
        unnest([first_time, last_time]) as moment,
    from flow_times
    union all
    select
        run,
        false as is_flow,
        unnest([first_time, last_time]) as moment,
    from capture_times
),

centres as (
    select
        run,
        coalesce(
            quantile_disc(epoch_ns(moment), 0.5) filter (is_flow),
            quantile_disc(epoch_ns(moment), 0.5)
        ) as centre_ns,
    from times
    where moment is not null
    group by run
    -- Times within 73 years of 1970 (2^61 ns) need no range.
    having
        bool_or(epoch_ns(moment) is null)
        or max(abs(epoch_ns(moment))) > 2305843009213693952
)

select
    run,
    greatest(
        centre_ns::hugeint - 2305843009213693952,
        margin_ns - 9223372036854775807::hugeint
    )::bigint as low_ns,
    least(
        centre_ns::hugeint + 2305843009213693952,
        9223372036854775807::hugeint - margin_ns
    )::bigint as high_ns,
from centres
cross join (select 1000000000000 as margin_ns) as margins
where centre_ns is not null
