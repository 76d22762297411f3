-- One row per run: its counted messages, by the time step in which they began. A step is a power of
-- ten in ns, so that a step of a long run consists of whole steps of a short one; a run has at most
-- 1,000. Long silences are cut out of the time: `cut_at_ns` is the place of each in the remaining
-- time, `cut_ns` its length.
with

spans as (
    select distinct
        run,
        run_start_ns,
        run_end_ns,
    from counted_messages
),

cuts as (
    select
        spans.run,
        list(silences.end_ns order by silences.begin_ns) as ends_ns,
        list(
            least(silences.end_ns, spans.run_end_ns)
            - greatest(silences.begin_ns, spans.run_start_ns)
            order by silences.begin_ns
        ) as cut_ns,
        list(
            greatest(silences.begin_ns - spans.run_start_ns, 0)
            order by silences.begin_ns
        ) as begins_ns,
    from spans
    inner join long_silences as silences using (run)
    where
        silences.begin_ns < spans.run_end_ns
        and silences.end_ns > spans.run_start_ns
    group by spans.run
),

sized as (
    select
        run,
        run_end_ns - run_start_ns - coalesce(list_sum(cuts.cut_ns), 0)::bigint
            as length_ns,
        pow(10, ceil(log10(greatest(length_ns, 1000) / 1000.0) - 1e-9))::bigint
            as step_ns,
        (
            first_ns
            - run_start_ns
            - coalesce(
                list_sum(
                    [
                        cuts.cut_ns[place]
                        for place in generate_series(1, len(cuts.ends_ns))
                        if cuts.ends_ns[place] <= first_ns
                    ]
                ),
                0
            )::bigint
        ) // step_ns as step,
        bytes,
    from counted_messages
    left join cuts using (run)
    where counted_messages.has_rate
),

counted as (
    select
        run,
        length_ns,
        step_ns,
        step,
        count(*) as messages,
        sum(bytes)::bigint as bytes,
    from sized
    group by all
),

listed as (
    select
        run,
        any_value(length_ns) as length_ns,
        any_value(step_ns) as step_ns,
        list(step order by step) as steps,
        list(messages order by step) as messages,
        list(bytes order by step) as bytes,
    from counted
    group by run
)

select
    listed.*,
    [
        begin_ns - coalesce(list_sum(cuts.cut_ns[:place - 1]), 0)::bigint
        for begin_ns, place in cuts.begins_ns
    ] as cut_at_ns,
    cuts.cut_ns,
from listed
left join cuts using (run)
