-- One row per run with a critical path: the time of each of its parts, and the messages on it.
with

pieces as (
    select
        steps.run,
        steps.part,
        steps.duration_ns / 1e9 as duration_s,
        -- Each message has one piece of propagation.
        steps.part = 'propagation' as is_message,
        senders.site <> receivers.site as is_between_sites,
    from stg_critical_path as steps
    left join hosts as senders
        on steps.run = senders.run and steps.host = senders.host
    left join hosts as receivers
        on steps.run = receivers.run and steps.receiver = receivers.host
),

final as (
    select
        run,
        sum(duration_s) as path_s,
        coalesce(sum(duration_s) filter (part = 'computing'), 0) as computing_s,
        coalesce(sum(duration_s) filter (part = 'sender stall'), 0) as stall_s,
        coalesce(sum(duration_s) filter (part = 'serialisation'), 0)
            as serialisation_s,
        coalesce(sum(duration_s) filter (part = 'queueing'), 0) as queueing_s,
        coalesce(sum(duration_s) filter (part = 'loss recovery'), 0)
            as recovery_s,
        coalesce(sum(duration_s) filter (part = 'propagation'), 0)
            as propagation_s,
        coalesce(sum(duration_s) filter (part = 'not explained'), 0)
            as not_explained_s,
        count(*) filter (is_message) as messages,
        if(
            count(is_between_sites) > 0,
            count(*) filter (is_message and is_between_sites),
            null
        ) as crossings,
    from pieces
    group by run
)

select * from final
