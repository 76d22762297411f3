-- One row per run, host and table of the contract: the number of its rows, and a hash of their
-- content.
with

counted as (
    select
        'captures' as kind,
        run,
        host,
        hash(rows) as content
    from stg_captures as rows
    union all
    select
        'flows' as kind,
        run,
        host,
        hash(rows) as content
    from stg_flows as rows
    union all
    select
        'intervals' as kind,
        run,
        host,
        hash(rows) as content
    from stg_intervals as rows
    union all
    select
        'throughput' as kind,
        run,
        host,
        hash(rows) as content
    from stg_throughput as rows
    union all
    select
        'messages' as kind,
        run,
        host,
        hash(rows) as content
    from stg_messages as rows
    union all
    select
        'rdma' as kind,
        run,
        host,
        hash(rows) as content
    from stg_rdma as rows
)

select
    run,
    host,
    kind,
    count(*) as rows,
    (sum(content) % 9223372036854775807)::bigint as content,
from counted
group by run, host, kind
