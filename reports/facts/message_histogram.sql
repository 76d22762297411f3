-- One row per run and direction of a connection: the number of counted messages in each bucket
-- (`bucket_of`) of the payload, and the largest payload in it.
with

counted as (
    select
        run,
        direction,
        bucket_of(bytes) as bucket,
        max(bytes) as top,
        count(*) as messages,
    from counted_messages
    group by all
)

select
    run,
    direction,
    list(bucket order by bucket) as buckets,
    list(top order by bucket) as tops,
    list(messages order by bucket) as messages,
from counted
group by run, direction
