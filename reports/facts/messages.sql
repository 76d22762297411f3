-- One row per application message, from the capture of the host that sent it; where that host was
-- not captured, from the capture that `flows` uses for the direction.
with

located as (
    select
        messages.*,
        epoch_ns(messages.first_time) as first_ns,
        epoch_ns(messages.last_time) as last_ns,
        flows.sender,
        flows.receiver,
        flows.is_on_path,
        -- By the sender's address; by RTTs if no known host has that address.
        case
            when flows.sender is null then coalesce(messages.at_sender, false)
            else flows.is_at_sender
        end as is_at_sender,
        string_split(messages.evidence, '+') as reasons,
    from stg_messages as messages
    inner join flows using (run, host, connection, direction)
    where flows.is_counted
),

turned as (
    select
        *,
        list_contains(reasons, 'turn')
        and lag(list_contains(reasons, 'turn'), 1, true) over (
            partition by run, host, connection, direction
            order by first_ns, last_ns
        ) as is_between_turns,
    from located
),

-- Writes that were queued together are one message. `most_writes` bounds their number: a message
-- between two turns is one write; elsewhere, its bytes divided by those of the smallest message
-- that was certainly written alone. Null: no bound.
bounded as (
    select
        *,
        case
            when merged_possible is null then null
            when not merged_possible or is_between_turns then 1
            else ceil(
                bytes / min(bytes) filter (not merged_possible)
                    over (partition by run, host, connection, direction)
            )::bigint
        end as most_writes,
    from turned
),

final as (
    select
        * exclude (first_time, last_time, reasons, is_between_turns),
        -- a pause or a PUSH flag may also lie within a message
        not list_has_any(reasons, ['turn', 'short', 'close']) as is_end_guessed,
    from bounded
)

select * from final
