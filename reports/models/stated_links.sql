-- One row per link between two sites that run.json states: the sites as in its `between`, and all
-- of its settings.
with

listed as (
    select
        run,
        unnest(json_extract(json, '$.links[*]')) as link,
    from stg_runs
    where json is not null
)

select
    run,
    link ->> '$.between[0]' as site_a,
    link ->> '$.between[1]' as site_b,
    link,
from listed
where (link ->> '$.between[0]') is not null and (link ->> '$.between[1]') is not null
