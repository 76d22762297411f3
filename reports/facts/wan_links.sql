-- One row per run and pair of sites (in the order of their names) whose link run.json states: the
-- configured rate of one link (null: no limit) and the number of parallel links. As in an
-- experiment file, a pair has one entry: a run.json in which it is there twice is refused.
select
    run,
    least(site_a, site_b) as site_a,
    greatest(site_a, site_b) as site_b,
    any_value((link ->> '$.rate_bit_s')::double) / 1e6 as link_mbit_s,
    any_value(coalesce((link ->> '$.links')::bigint, 1)) as links,
from stated_links
group by all
