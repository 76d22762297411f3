-- One row per run, pair of places and demand between them: how long the demand had that value. The
-- demand at a moment is the rate (see `wan_rates`) of the busier direction, because a link carries
-- its rate both ways at once. Silence is left out.
with

pairs as (
    select
        row_number() over (order by run, site_a, site_b) as pair_id,
        *,
    from (
        select distinct
            run,
            least(from_site, to_site) as site_a,
            greatest(from_site, to_site) as site_b,
        from wan_directions
    )
),

sides as (
    select
        pairs.pair_id,
        directions.direction_id,
        directions.from_site < directions.to_site as is_there,
    from wan_directions as directions
    inner join pairs
        on
            directions.run = pairs.run
            and least(directions.from_site, directions.to_site) = pairs.site_a
            and greatest(directions.from_site, directions.to_site)
            = pairs.site_b
),

changes as (
    select
        sides.pair_id,
        changes.bin,
        coalesce(sum(changes.change) filter (is_there), 0)::bigint as there,
        coalesce(sum(changes.change) filter (not is_there), 0)::bigint as back,
    from wan_changes as changes
    inner join sides using (direction_id)
    group by sides.pair_id, changes.bin
),

stretches as (
    select
        pair_id,
        bin,
        greatest(sum(there) over one_pair, sum(back) over one_pair)::bigint
            as window_bytes,
        lead(bin) over one_pair as next_bin,
    from changes
    window one_pair as (partition by pair_id order by bin)
),

-- The last stretch ends with the run.
ended as (
    select
        stretches.pair_id,
        stretches.window_bytes,
        sum(coalesce(stretches.next_bin, steps.bins) - stretches.bin)::bigint
            as bins,
        any_value(steps.bin_ns) as bin_ns,
        any_value(steps.step_ns) as step_ns,
    from stretches
    inner join pairs using (pair_id)
    inner join wan_steps as steps using (run)
    where stretches.window_bytes > 0
    group by stretches.pair_id, stretches.window_bytes
),

final as (
    select
        pairs.run,
        pairs.site_a,
        pairs.site_b,
        ended.bins * ended.bin_ns as held_ns,
        ended.window_bytes * 8e3 / ended.step_ns as mbit_s,
    from ended
    inner join pairs using (pair_id)
)

select * from final
