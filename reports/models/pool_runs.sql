-- One row per run in the distributions of a point: the runs of `point_runs`, which are pooled as
-- repetitions, and a shown run that is not one of them. A run without a record stands `alone`,
-- under its name: it is not known to repeat another one.
with

final as (
    select
        run,
        false as is_shown_only,
    from point_runs
    union
    select
        run,
        true as is_shown_only,
    from shown_runs
    where run not in (select run from point_runs)
)

select
    final.run,
    runs.point,
    if(runs.status = 'no record', final.run, null) as alone,
    final.is_shown_only,
from final
inner join runs using (run)
