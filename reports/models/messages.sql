-- One row per application message, in the capture of the host that sent it; where that
-- host was not captured, in the one that `flows` takes the direction from.
with

located as (
    select
        messages.*,
        epoch_ns(messages.first_time) as first_ns,
        epoch_ns(messages.last_time) as last_ns,
        flows.sender,
        flows.receiver,
        flows.is_on_path,
        flows.is_at_sender,
        string_split(messages.evidence, '+') as reasons,
    from stg_messages as messages
    inner join flows using (run, host, connection, direction)
    where flows.is_counted
),

final as (
    select
        * exclude (first_time, last_time, reasons),
        -- a pause or a PUSH flag may also lie within a message
        not list_has_any(reasons, ['turn', 'short', 'close']) as is_end_guessed,
    from located
)

select * from final
