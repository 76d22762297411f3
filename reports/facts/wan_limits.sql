-- One row per run and sum of directions (see `wan_sums`) whose rate run.json limits: one direction
-- between two sites is limited by its links and the access lines of both, all that a site sends or
-- receives by its access line.
with

ways as (
    select
        run,
        site_a as from_site,
        site_b as to_site,
        link as way,
    from stated_links
    union all
    select
        run,
        site_b as from_site,
        site_a as to_site,
        -- Without `back` both directions are the same.
        if((link ->> '$.back') is null, link, link -> '$.back') as way,
    from stated_links
),

lines as (
    select
        run,
        unnest(map_entries(try_cast(json -> '$.uplinks' as map (varchar, json))))
            as line,
    from stg_runs
    where json_type(json, '$.uplinks') = 'OBJECT'
),

uplinks as (
    select
        run,
        line['key'] as site,
        try_cast(line['value'] ->> '$.rate_bit_s' as double) / 1e6
        * coalesce(try_cast(line['value'] ->> '$.links' as bigint), 1)
            as mbit_s,
    from lines
),

between_sites as (
    select
        ways.run,
        ways.from_site,
        ways.to_site,
        least(
            try_cast(ways.way ->> '$.rate_bit_s' as double) / 1e6
            * coalesce(try_cast(ways.way ->> '$.links' as bigint), 1),
            near.mbit_s,
            far.mbit_s
        ) as limit_mbit_s,
    from ways
    left join uplinks as near
        on ways.run = near.run and ways.from_site = near.site
    left join uplinks as far
        on ways.run = far.run and ways.to_site = far.site
),

final as (
    select
        run,
        from_site,
        to_site,
        any_value(limit_mbit_s) as limit_mbit_s,
    from between_sites
    group by run, from_site, to_site
    union all
    select
        run,
        site as from_site,
        null as to_site,
        mbit_s as limit_mbit_s,
    from uplinks
    union all
    select
        run,
        null as from_site,
        site as to_site,
        mbit_s as limit_mbit_s,
    from uplinks
)

select * from final
where limit_mbit_s is not null
