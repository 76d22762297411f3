-- One row per run of `wan_shortest` and place at an end of its directions, and one for all places
-- together (null): the shortest time whose rate is known, and whether the peak over a step is known
-- (`is_peak_known`).
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
