-- One row per capture point and message; columns that the files lack are null.
with

contract as (
    select
        null::varchar as run,
        null::varchar as host,            -- whose capture it is
        null::bigint as connection,       -- number within the capture
        null::varchar as direction,       -- 'forward' from the initiator
        null::timestamptz_ns as first_time,
        null::timestamptz_ns as last_time,
        null::bigint as bytes,
        null::bigint as packets,
        null::bigint as gap_before_ns,    -- since the message before it
        null::varchar as evidence,        -- why it ends there
        null::boolean as at_sender,       -- by RTTs; null where they do not show it
        null::boolean as merged_possible  -- null far from the sender
    where false
),

filled as (
    select * from contract
    union all by name
    select * from file_messages
),

-- Moves times to the clock that most hosts of the run share.
shifted as (
    select
        filled.* replace (
            if(shift_ns is null, first_time, earlier(first_time, shift_ns))
                as first_time,
            if(shift_ns is null, last_time, earlier(last_time, shift_ns))
                as last_time
        ),
    from filled
    left join clock_shifts using (run, host)
    left join time_ranges using (run)
    where
        is_in_time_range(first_time, low_ns, high_ns)
        and is_in_time_range(last_time, low_ns, high_ns)
)

select * from shifted
where run not in (select run from left_out)
