-- One row per run, direction between two places and bin in which a packet was sent, from the
-- capture of the host that sent it; where that was not captured, from the receiver's. If no sites
-- are known, addresses of no captured host are 'elsewhere'. `bin` counts from the first bin of the
-- run's time; bins before and after that time are included.
with

pairs as (
    select
        bins.run,
        bins.host,
        bins.src_ip,
        bins.dst_ip,
        case
            when bins.host = senders.host then '1'
            when bins.host = receivers.host then '2'
            else '3'
        end || bins.host as preference,
        coalesce(senders.place, 'elsewhere') as from_site,
        coalesce(receivers.place, 'elsewhere') as to_site,
        coalesce(bins.host <> senders.host, true) as is_far_side,
    from (select distinct
        run,
        host,
        src_ip,
        dst_ip
    from paced_throughput) as bins
    left join host_addresses as senders
        on bins.run = senders.run and bins.src_ip = senders.address
    left join host_addresses as receivers
        on bins.run = receivers.run and bins.dst_ip = receivers.address
    where
        coalesce(senders.has_wan, receivers.has_wan, false)
        and (
            senders.place is not null and receivers.place is not null
            or not coalesce(senders.has_sites, receivers.has_sites)
        )
),

chosen as (
    select *
    from pairs
    where from_site <> to_site
    qualify preference = min(preference) over (partition by run, src_ip, dst_ip)
),

final as (
    select
        chosen.run,
        chosen.from_site,
        chosen.to_site,
        epoch_ns(bins.bin_start) // steps.bin_ns - steps.first_bin as bin,
        bin between 0 and any_value(steps.bins) - 1 as is_within,
        sum(bins.packets)::bigint as packets,
        sum(bins.wire_bytes)::bigint as wire_bytes,
        bool_or(chosen.is_far_side) as is_far_side,
    from paced_throughput as bins
    inner join chosen using (run, host, src_ip, dst_ip)
    inner join wan_steps as steps using (run)
    group by chosen.run, chosen.from_site, chosen.to_site, bin
)

select * from final
