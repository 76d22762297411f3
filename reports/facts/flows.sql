-- One row per run, connection and direction, taken from the capture of the host that
-- sent it. Where that host was not captured: from the receiver's, else from any.
with

placed as (
    select
        flows.*,
        senders.host as sender,
        senders.site as sender_site,
        receivers.host as receiver,
        receivers.site as receiver_site,
        coalesce(flows.host = senders.host, false) as is_at_sender,
        coalesce(flows.host = receivers.host, false) as is_at_receiver,
    from stg_flows as flows
    left join host_addresses as senders
        on flows.run = senders.run and flows.src_ip = senders.address
    left join host_addresses as receivers
        on flows.run = receivers.run and flows.dst_ip = receivers.address
),

preferred as (
    select
        *,
        case when is_at_sender then '1' when is_at_receiver then '2' else '3' end
        || host as preference,
    from placed
),

best as (
    select
        *,
        min(preference) over (
            partition by run, protocol, src_ip, src_port, dst_ip, dst_port
        ) as best_preference,
    from preferred
),

final as (
    select
        * exclude (preference, best_preference),
        preference = best_preference as is_counted,
        -- `is_begun_before`: no SYN was captured; `is_open`: neither FIN nor RST was. UDP has none
        -- of these.
        coalesce(start, '') <> 'syn' as is_begun_before,
        coalesce("end", '') not in ('fin', 'rst') as is_open,
        -- Hosts of unknown sites count as apart: a user's own captures are taken to be of a WAN.
        coalesce(sender_site <> receiver_site, true) as is_between_sites,
        -- the path that the sweep varies; all flows where no two sites are known
        coalesce(sender_site <> receiver_site, true)
        or not coalesce(
            bool_or(sender_site <> receiver_site) over (partition by run), false
        ) as is_on_path,
    from best
)

select * from final
