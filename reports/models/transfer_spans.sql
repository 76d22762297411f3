-- One row per transfer: the part of the run's time for which it was under way. A run of unknown
-- length lasts until its last transfer has ended.
with

lengths as (
    select
        transfers.run,
        coalesce(any_value(windows.length_s), max(transfers.end_s)) as length_s,
    from transfers
    inner join run_windows as windows using (run)
    group by transfers.run
)

select
    transfers.* exclude (start_s, end_s),
    lengths.length_s,
    greatest(transfers.start_s, 0) as begin_s,
    least(transfers.end_s, lengths.length_s) as end_s,
from transfers
inner join lengths using (run)
where lengths.length_s > 0
