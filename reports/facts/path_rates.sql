-- One row per run and direction between two hosts whose packets show it: the rate of the slowest
-- link on the way. Packets that were sent faster leave that link one behind the other, so that
-- their bytes and the time between them at the receiver give its rate (Dovrolis, Ramanathan and
-- Moore 2001). Other traffic between them makes the rate seem lower, in various ways; therefore the
-- most frequent rate counts. Trains are of 2 packets, between which the least other traffic is.
-- Where the host often handed on several at once, that time shows nothing, and they are of 9, 65 or
-- 513 packets: the fewest of which most last 400 us, several times what interfaces wait. Bytes are
-- those of IP and of an Ethernet header.
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
        and fate <> 'duplicated'
    window so_far as (
        partition by run, sender, receiver order by packet_sent
    )
),

-- the host may have handed on several as one: all of their bytes have passed at that time
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
        run,
        sender,
        receiver,
        unnest([1, 8, 64, 512]) as length,
        sent_ns - unnest(
            [
                lag(sent_ns, 1) over way,
                lag(sent_ns, 8) over way,
                lag(sent_ns, 64) over way,
                lag(sent_ns, 512) over way,
            ]
        ) as sent_for_ns,
        received_ns - unnest(
            [
                lag(received_ns, 1) over way,
                lag(received_ns, 8) over way,
                lag(received_ns, 64) over way,
                lag(received_ns, 512) over way,
            ]
        ) as received_for_ns,
        bytes - unnest(
            [
                lag(bytes, 1) over way,
                lag(bytes, 8) over way,
                lag(bytes, 64) over way,
                lag(bytes, 512) over way,
            ]
        ) as train_bytes,
        others - unnest(
            [
                lag(others, 1) over way,
                lag(others, 8) over way,
                lag(others, 64) over way,
                lag(others, 512) over way,
            ]
        ) as others_between,
    from passed
    window way as (partition by run, sender, receiver order by packet_sent)
),

-- that were sent faster than they arrived, of large packets
rates as (
    select
        run,
        sender,
        receiver,
        length,
        received_for_ns >= if(length = 1, 20_000, 400_000) as is_long,
        train_bytes * 8e3 / received_for_ns as mbit_s,
        floor(log2(mbit_s) * 16)::bigint as bucket,
    from trains
    where
        received_for_ns > 0
        and 2 * sent_for_ns < received_for_ns
        and train_bytes >= 1000 * length
        and others_between = 0
),

lengths as (
    select
        run,
        sender,
        receiver,
        min(length) as length,
    from (
        select
            run,
            sender,
            receiver,
            length,
        from rates
        group by run, sender, receiver, length
        having
            count_if(is_long)
            >= greatest(30, if(length = 1, 0.9, 0.5) * count(*))
    )
    group by run, sender, receiver
),

chosen as (
    select rates.*
    from rates
    inner join lengths using (run, sender, receiver, length)
    where rates.is_long
),

-- two buckets of 4 % side by side: one rate may lie on both sides of an edge
buckets as (
    select
        run,
        sender,
        receiver,
        bucket,
        count(*) + coalesce(
            if(
                lead(bucket) over way = bucket + 1,
                lead(count(*)) over way,
                null
            ),
            0
        ) as trains,
        sum(count(*)) over (partition by run, sender, receiver) as all_trains,
    from chosen
    group by run, sender, receiver, bucket
    window way as (partition by run, sender, receiver order by bucket)
),

modes as (
    select *
    from buckets
    where trains >= 0.2 * all_trains
    qualify
        row_number() over (
            partition by run, sender, receiver
            order by trains desc, bucket asc
        ) = 1
),

final as (
    select
        modes.run,
        modes.sender,
        modes.receiver,
        median(chosen.mbit_s) as bottleneck_mbit_s,
        any_value(modes.trains / modes.all_trains) as trains_share,
    from modes
    inner join chosen using (run, sender, receiver)
    where chosen.bucket in (modes.bucket, modes.bucket + 1)
    group by modes.run, modes.sender, modes.receiver
)

select * from final
