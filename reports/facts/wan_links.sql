-- One row per run and pair of sites (in the order of their names) with the link between
-- them, where run.json names it: the rate of one link as asked, null for no limit, and
-- how many of them lie side by side.
with

listed as (
    select
        run,
        unnest(json_extract(json, '$.links[*]')) as link,
    from stg_runs
    where json is not null
),

final as (
    select
        run,
        least(link ->> '$.between[0]', link ->> '$.between[1]') as site_a,
        greatest(link ->> '$.between[0]', link ->> '$.between[1]') as site_b,
        any_value((link ->> '$.rate_bit_s')::double) / 1e6 as link_mbit_s,
        any_value(coalesce((link ->> '$.links')::bigint, 1)) as links,
    from listed
    where (link ->> '$.between[1]') is not null
    group by all
)

select * from final
