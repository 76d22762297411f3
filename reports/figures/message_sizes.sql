-- One row per application, problem, point, direction and step of the distribution of the payload of
-- messages between the sites.
with

listed as (
    select
        pool_runs.point,
        pool_runs.alone,
        sizes.direction,
        sizes.run,
        unnest(sizes.buckets) as bucket,
        unnest(sizes.tops) as top,
        unnest(sizes.messages) as count,
    from message_histogram as sizes
    inner join pool_runs using (run)
    where not pool_runs.is_shown_only
),

counted as (
    select
        {
            'point': point,
            'alone': alone,
            'direction': direction
        } as series,
        run,
        bucket,
        top,
        count,
    from listed
),

final as (
    select
        unnest(series),
        run,
        value as bytes,
        share,
        share_low,
        share_high,
        runs,
        count as messages,
        of_count as of_messages,
    from distribution('counted')
)

select
    points.*,
    final.run,
    final.* exclude (point, alone, run),
from printed_points as points
inner join final using (point)
order by app, problem, is_baseline desc, point, run, direction, bytes
