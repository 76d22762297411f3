-- One row per capture point, pair of addresses and bin in which a packet passed.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,
        null::timestamptz_ns as bin_start,  -- a multiple of bin_ns since the epoch
        null::bigint as bin_ns,
        null::varchar as src_ip,
        null::varchar as dst_ip,
        null::bigint as packets,
        null::bigint as wire_bytes,
        null::bigint as payload_bytes
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_throughput
),

-- Moves times to the clock that most hosts of the run share, by whole bins.
shifted as (
    select
        filled.* replace (
            if(
                shift_ns is null,
                bin_start,
                earlier(bin_start, round(shift_ns / bin_ns)::bigint * bin_ns)
            ) as bin_start
        ),
    from filled
    left join clock_shifts using (run, host)
    left join time_ranges using (run)
    where is_in_time_range(bin_start, low_ns, high_ns)
)

select * from shifted
where run not in (select run from left_out)
