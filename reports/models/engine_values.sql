-- One row per engine and value, with its count, of the shown runs' hosts that both engines read.
-- Values are in base units: bytes, seconds, bit/s.
with

compared as (
    select distinct
        shown_runs.app,
        shown_runs.problem,
        shown_runs.run,
        agreements.host,
    from agreements
    inner join shown_runs using (run)
),

flow_rows as (
    select
        'native' as engine,
        run,
        host,
        payload_bytes,
        last_ns - first_ns as lasted_ns
    from shown_stg_flows
    union all
    select
        'zeek' as engine,
        run,
        host,
        payload_bytes,
        last_ns - first_ns as lasted_ns
    from shown_stg_zeek_flows
),

gaps as (
    select
        'native' as engine,
        *
    from shown_stg_intervals
    union all by name
    select
        'zeek' as engine,
        *
    from shown_stg_zeek_intervals
),

written as (
    select
        'native' as engine,
        *
    from shown_stg_messages
    union all by name
    select
        'zeek' as engine,
        *
    from shown_stg_zeek_messages
),

bins as (
    select
        'native' as engine,
        *
    from shown_stg_throughput
    union all by name
    select
        'zeek' as engine,
        *
    from shown_stg_zeek_throughput
),

every as (
    select
        engine,
        run,
        host,
        'flow payload' as quantity,
        payload_bytes::double as value,
        1 as count
    from flow_rows
    where payload_bytes is not null
    union all
    select
        engine,
        run,
        host,
        'flow duration',
        lasted_ns / 1e9,
        1
    from flow_rows
    union all
    -- A bucket is represented by the geometric mean of its ends.
    select
        engine,
        run,
        host,
        'packet interval',
        if(bucket_low_ns = 0, 0, sqrt(bucket_low_ns::double * bucket_high_ns)) / 1e9,
        count
    from gaps
    union all
    select
        engine,
        run,
        host,
        'message',
        bytes::double,
        1
    from written
    union all
    select
        engine,
        run,
        host,
        'throughput',
        8e9 * wire_bytes / bin_ns,
        1
    from bins
)

select
    compared.app,
    compared.problem,
    every.*,
from every
inner join compared using (run, host)
