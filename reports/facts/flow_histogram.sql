-- One row per run, direction of a connection, and quantity of its flows (TCP and UDP, each once, as
-- in `flows`): the number of flows in each bucket, and how many of these the capture does not show
-- completely. A flow of duration 0 has no rate.
with

grades as (
    select
        run,
        host,
        bool_or(is_truncated) as is_truncated,
    from captures
    group by run, host
),

valued as (
    select
        flows.run,
        flows.direction,
        flows.is_begun_before,
        flows.is_open,
        flows.is_open and coalesce(grades.is_truncated, false) as is_cut_off,
        unnest(['duration', 'size', 'rate']) as quantity,
        unnest(
            [
                duration_ns / 1e9,
                payload_bytes::double,
                payload_bytes * 8e3 / nullif(duration_ns, 0)
            ]
        ) as value,
    from flows
    left join grades using (run, host)
    where flows.is_counted and flows.protocol in ('tcp', 'udp')
),

counted as (
    select
        run,
        direction,
        quantity,
        bucket_of(value) as bucket,
        max(value) as top,
        count(*) as flows,
        count(*) filter (is_begun_before) as begun_before,
        count(*) filter (is_open) as left_open,
        count(*) filter (is_cut_off) as cut_off,
        count(*) filter (is_begun_before or is_open) as censored,
    from valued
    where value is not null
    group by all
)

select
    run,
    direction,
    quantity,
    list(bucket order by bucket) as buckets,
    list(top order by bucket) as tops,
    list(flows order by bucket) as flows,
    list(begun_before order by bucket) as begun_before,
    list(left_open order by bucket) as left_open,
    list(cut_off order by bucket) as cut_off,
    list(censored order by bucket) as censored,
from counted
group by run, direction, quantity
