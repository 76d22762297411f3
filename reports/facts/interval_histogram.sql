-- One row per run and stream (see `interval_streams`): its inter-arrival times in the buckets of
-- the tables, from captures whose grade allows claims about gaps.
with

counted as (
    select
        intervals.run,
        streams.stream,
        intervals.bucket_low_ns,
        intervals.bucket_high_ns,
        sum(intervals.count)::bigint as count,
    from stg_intervals as intervals
    inner join interval_streams as streams
        using (run, host, connection, direction)
    where streams.is_counted
    group by all
)

select
    run,
    stream,
    list(bucket_low_ns order by bucket_low_ns, bucket_high_ns) as lows_ns,
    list(bucket_high_ns order by bucket_low_ns, bucket_high_ns) as highs_ns,
    list(count order by bucket_low_ns, bucket_high_ns) as counts,
from counted
group by run, stream
