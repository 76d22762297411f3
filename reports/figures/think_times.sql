-- One row per application, problem, point, side, direction of the answers, and step of the
-- distribution of the time from the end of a message to the start of the answer: at the host that
-- answers (think), and at the host that asked (wait).
with

listed as (
    select
        pool_runs.point,
        pool_runs.alone,
        turns.side,
        turns.direction,
        turns.run,
        turns.crossed,
        unnest(turns.buckets) as bucket,
        unnest(turns.tops) as top,
        unnest(turns.turns) as count,
    from turn_histogram as turns
    inner join pool_runs using (run)
    where not pool_runs.is_shown_only
),

counted as (
    select
        {
            'point': point,
            'alone': alone,
            'side': side,
            'direction': direction
        } as series,
        *,
    from listed
),

-- Each run counts once, although it has a row per bucket.
overlapping as (
    select
        series,
        sum(crossed)::bigint as crossed,
    from (select distinct
        series,
        run,
        crossed
    from counted)
    group by series
),

final as (
    select
        unnest(series),
        steps.run,
        steps.value as time_s,
        steps.share,
        steps.share_low,
        steps.share_high,
        steps.runs,
        steps.count as answers,
        steps.of_count as of_answers,
        overlapping.crossed,
    from distribution('counted') as steps
    inner join overlapping using (series)
)

select
    points.*,
    final.run,
    final.* exclude (point, alone, run),
from printed_points as points
inner join final using (point)
order by app, problem, is_baseline desc, point, run, side, direction, time_s
