-- One row per run with packets between two places that offloading merged or that have no time of
-- their own, and place they go from or to, and one for all together (null): the shortest time whose
-- rate is known, and whether a peak over a step is (`is_peak_known`).
with

ends as (
    select
        run,
        unnest([from_site, to_site, null]) as site,
        shortest_ns,
        is_borrowed,
    from wan_shortest
)

select
    ends.run,
    ends.site,
    max(ends.shortest_ns) as shortest_ns,
    max(ends.shortest_ns) <= any_value(steps.step_ns)
    and not bool_or(ends.is_borrowed) as is_peak_known,
from ends
inner join wan_steps as steps using (run)
group by ends.run, ends.site
