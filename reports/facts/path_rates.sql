-- One row per run and direction between two hosts whose packets show it: the rate of the bottleneck
-- link. Packets that were sent faster leave that link back to back, so that their bytes and the
-- time between them at the receiver give its rate (Dovrolis, Ramanathan and Moore 2001). Trains
-- have 2, 9, 65 or 513 packets; each length gives its most frequent rate. Cross traffic makes long
-- trains seem slower, and hosts that deliver packets in batches or at fixed times make short ones
-- seem faster or slower. So a rate is valid only where trains of two lengths agree within 2 %, or
-- where packet pairs are so far apart that batches do not matter. Bytes are those of IP and of an
-- Ethernet header.
with

sent as (
    select
        run,
        sender,
        receiver,
        packet_sent,
        epoch_ns(time_sent) as sent_ns,
        epoch_ns(time_received) as received_ns,
        fate = 'delivered' as is_delivered,
        sum(ip_bytes + 14) filter (is_delivered) over so_far as bytes,
        count(*) filter (not is_delivered) over so_far as others,
    from stg_fates
    where
        packet_sent is not null
        and sender is not null
        and receiver is not null
        and fate not in ('duplicated', 'outside')
    window so_far as (
        partition by run, sender, receiver order by packet_sent
    )
),

-- A host may deliver several packets at once: by that time all of their bytes have passed.
passed as (
    select
        * replace (
            max(bytes)
                over (partition by run, sender, receiver, received_ns) as bytes
        ),
    from sent
    where is_delivered
),

trains as (
    select
        passed.*,
        unnest([1, 8, 64, 512]) as length,
        unnest(
            [
                lag(passed, 1) over way,
                lag(passed, 8) over way,
                lag(passed, 64) over way,
                lag(passed, 512) over way,
            ]
        ) as first_packet,
    from passed
    window way as (partition by run, sender, receiver order by packet_sent)
),

-- Trains of large packets that were sent in less than half of the time in which they arrived.
rates as (
    select
        run,
        sender,
        receiver,
        length,
        received_ns - first_packet.received_ns as received_for_ns,
        received_for_ns >= if(length = 1, 20_000, 400_000) as is_long,
        (bytes - first_packet.bytes) * 8e3 / received_for_ns as mbit_s,
        floor(log2(mbit_s) * 16)::bigint as bucket,
    from trains
    where
        received_for_ns > 0
        and 2 * (sent_ns - first_packet.sent_ns) < received_for_ns
        and bytes - first_packet.bytes >= 1000 * length
        and others = first_packet.others
    window all_of_length as (partition by run, sender, receiver, length)
    qualify
        is_long
        and count_if(is_long) over all_of_length
        >= greatest(30, count(*) over all_of_length / 2)
),

-- Pairs of adjacent buckets of 4 %: samples of one rate may lie on both sides of an edge.
buckets as (
    select
        run,
        sender,
        receiver,
        length,
        bucket,
        count(*) + coalesce(
            if(
                lead(bucket) over way = bucket + 1,
                lead(count(*)) over way,
                null
            ),
            0
        ) as trains,
        sum(count(*)) over (partition by run, sender, receiver, length)
            as all_trains,
    from rates
    group by run, sender, receiver, length, bucket
    window way as (
        partition by run, sender, receiver, length order by bucket
    )
),

modes as (
    select *
    from buckets
    where trains >= 0.2 * all_trains
    qualify
        row_number() over (
            partition by run, sender, receiver, length
            order by trains desc, bucket asc
        ) = 1
),

by_length as (
    select
        modes.run,
        modes.sender,
        modes.receiver,
        modes.length,
        median(rates.mbit_s) as mbit_s,
        median(rates.received_for_ns) as duration_ns,
    from modes
    inner join rates using (run, sender, receiver, length)
    where rates.bucket in (modes.bucket, modes.bucket + 1)
    group by modes.run, modes.sender, modes.receiver, modes.length
),

compared as (
    select
        *,
        length = 1 and duration_ns >= 1_000_000 as is_slow,
        lead(mbit_s) over (
            partition by run, sender, receiver order by length
        ) as longer_mbit_s,
    from by_length
),

final as (
    select
        run,
        sender,
        receiver,
        if(is_slow, mbit_s, longer_mbit_s) as bottleneck_mbit_s,
    from compared
    where is_slow or abs(longer_mbit_s / mbit_s - 1) <= 0.02
    qualify
        row_number() over (
            partition by run, sender, receiver order by length
        ) = 1
)

select * from final
