-- The part of a time of `total` ns that may lie above the quantile q.
create or replace temp macro above_ns(total, q) as
total - ceil(total * q - 0.001);

-- Payload of a flow without retransmissions. A repeated SYN or FIN counts as one retransmitted
-- byte, which is no payload.
create or replace temp macro new_payload_bytes(flow) as
flow.payload_bytes
- coalesce(flow.retransmitted_bytes, 0)
+ greatest(coalesce(flow.syn_packets, 0) - 1, 0)
+ greatest(coalesce(flow.fin_packets, 0) - 1, 0);

-- Four decimals, or as many as a small value needs to keep three digits.
create or replace temp macro decimals(value) as
greatest(4, 2 - floor(log10(greatest(abs(value), 1e-30))))::integer;

-- Division by 0 gives infinity or NaN, which become null.
create or replace temp macro rounded(value) as
if(isfinite(value), round(value, decimals(value)), null);

-- The shortest bin that contains the same number of coarse time stamps wherever it begins: the
-- least common multiple of bin and resolution. Where that has more than 50 stamps, the bin has
-- about 50, and one more or less changes its rate by 2 %.
create or replace temp macro coarse_bin_ns(resolution_ns, bin_ns) as
least(
    lcm(resolution_ns, bin_ns),
    (50 * resolution_ns + bin_ns - 1) // bin_ns * bin_ns
);

-- The largest difference between a `rounded` value and the exact one.
create or replace temp macro rounding_error(value) as
0.5 * pow(10, -decimals(value));

-- The bucket of a value in a histogram: 64 per octave, each up to 1.1 % wide and with its upper end
-- included; 0 has its own.
create or replace temp macro bucket_of(value) as
if(value > 0, ceil(log2(greatest(value, 1e-300)) * 64 - 1e-9), -100000)::integer;

-- The empirical distribution function of each series, at the largest value of each bucket, where it
-- is exact. `summed` names a table with one row per series, run and bucket: `top`, the largest
-- value in it, `count`, the count up to it in its run (`up_to`), and that of the run (`of_count`).
-- The runs of a series are pooled; `share_low` and `share_high` are the least and the greatest
-- share of a single run. `run` is set where a series has one run.
create or replace temp macro distribution_of(summed) as table (
    with buckets as (
        select
            series,
            bucket,
            max(top) as value,
            sum(count) as count,
            max(up_to / of_count) as highest,
            min((up_to - count) / of_count) as lowest_before,
            count(*) filter (is_last) as last_of_runs,
            any_value(run) filter (is_last) as run,
        from (
            select
                *,
                up_to = of_count and count > 0 as is_last,
            from query_table(summed)
        )
        group by series, bucket
    ),

    runs_of as (
        select
            series,
            sum(count) as of_count,
            sum(last_of_runs)::bigint as runs,
            any_value(run) as run,
        from buckets
        group by series
    ),

    -- The share of a run only rises. So the greatest share at a bucket was reached there or
    -- earlier, and the least is the smallest one before a later rise, or 1 if no run rises again.
    risen as (
        select
            *,
            sum(count) over up_to_here as up_to,
            max(highest) over up_to_here as share_high,
            coalesce(min(lowest_before) over behind, 1) as share_low,
        from buckets
        window
            up_to_here as (
                partition by series order by bucket
                rows between unbounded preceding and current row
            ),
            behind as (
                partition by series order by bucket
                rows between 1 following and unbounded following
            )
    )

    select
        risen.series,
        risen.bucket,
        risen.value,
        risen.count::bigint as count,
        runs_of.of_count::bigint as of_count,
        round(risen.up_to / runs_of.of_count, 6) as share,
        round(risen.share_low, 6) as share_low,
        round(risen.share_high, 6) as share_high,
        runs_of.runs,
        if(runs_of.runs = 1, runs_of.run, null) as run,
    from risen
    inner join runs_of on risen.series = runs_of.series
);

-- The same for a table with one row per series, run and bucket, `top` and `count`.
create or replace temp macro distribution(counted) as table (
    with summed as (
        select
            *,
            sum(count) over (
                one_run
                rows between unbounded preceding and current row
            ) as up_to,
            sum(count) over (
                one_run
                rows between unbounded preceding and unbounded following
            ) as of_count,
        from query_table(counted)
        window one_run as (partition by series, run order by bucket)
    )

    select * from distribution_of('summed')
);

-- Whether a moment lies in the range of a run (see `time_ranges`); always true without a range.
create or replace temp macro is_in_time_range(moment, low_ns, high_ns) as
low_ns is null or coalesce(epoch_ns(moment) between low_ns and high_ns, false);

-- The way of a packet past a host: out of it, in, or through, between others.
create or replace temp macro way_past(addresses, src_ip, dst_ip) as
case
    when list_contains(addresses, src_ip) then 'out'
    when list_contains(addresses, dst_ip) then 'in'
    else 'through'
end;

-- Whether a host sends to itself: no network carries such packets.
create or replace temp macro is_local(src_ip, dst_ip) as
src_ip = dst_ip
or regexp_matches(src_ip, '^(127\.|::1$)')
or regexp_matches(dst_ip, '^(127\.|::1$)');

-- The class of a number whose logarithm has so many classes a decade; 0 and null have their own.
create or replace temp macro log_class(number, classes) as
case
    when number > 0 then floor(log10(number) * classes)::varchar
    when number <= 0 then 'none'
    else '?'
end;

-- The number of whole steps from 0, rounded down also below 0, where `//` rounds up.
create or replace temp macro floor_steps(distance, step) as
distance // step - if(distance % step < 0, 1, 0);

-- The moment `by_ns` before another one.
create or replace temp macro earlier(moment, by_ns) as
make_timestamp_ns(epoch_ns(moment) - by_ns) at time zone 'UTC';
