-- One row per counted flow direction between two places, with their names.
select
    flows.*,
    coalesce(senders.place, 'elsewhere') as from_site,
    coalesce(receivers.place, 'elsewhere') as to_site,
from flows
left join host_addresses as senders
    on flows.run = senders.run and flows.src_ip = senders.address
left join host_addresses as receivers
    on flows.run = receivers.run and flows.dst_ip = receivers.address
where flows.is_counted and flows.is_on_path
