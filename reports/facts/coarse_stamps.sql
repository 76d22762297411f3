-- One row per run and host whose time stamps are coarser than the bins of the tables: their
-- resolution, and the shortest bin whose rate is known (see coarse_bin_ns).
with

resolutions as (
    select
        run,
        host,
        max(ts_resolution_ns) as resolution_ns,
    from stg_captures
    where packets > 0
    group by run, host
),

final as (
    select
        run,
        host,
        resolution_ns,
        coarse_bin_ns(resolution_ns, windows.bin_ns) as bin_ns,
    from resolutions
    inner join windows using (run, host)
    where resolution_ns > windows.bin_ns
)

select * from final
