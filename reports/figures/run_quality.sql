-- One row per run, capture file and interface of it: whether the run counts, what the capture
-- may be used for and why, how late the emulator was, and whether packets are conserved.
with

unexplained as (
    select
        run,
        sum(abs(unexplained_frames))::bigint as unexplained_frames,
        -- known for a run if it is known for each direction
        if(
            count(unexplained_packets) = count(*),
            sum(abs(unexplained_packets))::bigint,
            null
        ) as unexplained_packets,
    from conservation
    group by run
),

final as (
    select
        runs.run,
        runs.app,
        runs.problem,
        runs.repetition,
        runs.is_warmup,
        runs.status,
        runs.reason,
        runs.is_used,
        captures.host,
        captures.file,
        captures.interface,
        captures.grade,
        captures.reasons as grade_reasons,
        captures.packets,
        captures.wire_bytes,
        captures.snaplen,
        captures.dropped_kernel,
        captures.dropped_interface,
        captures.super_packets,
        captures.duplicate_packets,
        captures.distant_duplicate_packets,
        captures.reordered_packets,
        captures.late_packets,
        captures.length_conflict_packets,
        captures.times_out_of_range,
        captures.untimed_packets,
        captures.time_regressions,
        captures.unseen_acked_bytes,
        captures.undecoded_packets,
        captures.is_truncated,
        runs.rtt_asked_ms,
        round(runs.rtt_ms, 4) as rtt_ms,
        runs.rate_asked_mbit_s,
        round(runs.rate_mbit_s, 4) as rate_mbit_s,
        round(runs.emulator_late_p99_us, 1) as emulator_late_p99_us,
        runs.emulator_dropped,
        unexplained.unexplained_frames,
        unexplained.unexplained_packets,
        framing.application_bytes,
        framing.payload_bytes,
        round(framing.framing_share, 6) as framing_share,
    from runs
    left join captures using (run)
    left join unexplained using (run)
    left join framing using (run)
)

select * from final
order by app, problem, run, host, file, interface
