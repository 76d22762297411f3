-- One row per run and host: how far its clock was from that of another host of the run.
with

final as (
    select
        runs.run,
        runs.app,
        runs.problem,
        runs.is_used,
        clocks.host,
        clocks.beside,
        clocks.connections,
        clocks.offset_ns / 1e6 as offset_ms,
        clocks.low_ns / 1e6 as low_ms,
        clocks.high_ns / 1e6 as high_ms,
        clocks.shift_ns / 1e6 as put_back_ms,
        clocks.shift_ns <> 0 as is_put_right,
    from clock_offsets as clocks
    inner join runs using (run)
)

select * from final
order by app, problem, run, host
