-- One row per value that a paper of this experiment states, with ours where there is one, and the
-- verdict by the rule of the value.
with

compared as (
    select
        items.*,
        own.ours,
        if(items.published = 0, null, own.ours / items.published) as ratio,
    from paper_items as items
    inner join experiment_papers using (paper)
    left join paper_values as own
        on
            items.paper = own.paper
            and items.item = own.item
            and items.key = own.key
),

-- values whose order with another value of the group is wrong, by more than a tie
crossed as (
    select distinct
        one.paper,
        one.item,
        one.key,
    from compared as one
    inner join compared as two
        on
            one.paper = two.paper
            and one.item = two.item
            and one.shape_order = two.shape_order
    where
        one.published < two.published
        and one.ours > two.ours * (1 + coalesce(one.shape_tolerance, 0))
        or one.published > two.published
        and one.ours * (1 + coalesce(one.shape_tolerance, 0)) < two.ours
),

judged as (
    select
        one.*,
        ---------- reproduced
        abs(one.ratio / one.scale - 1) <= one.within as is_within,
        one.ours >= one.at_least as is_above,
        one.ours <= one.at_most as is_below,
        ---------- same shape
        -- A value has no shape relative to itself.
        if(
            one.key = one.shape_to,
            null,
            abs(one.ratio / reference.ratio - 1) <= one.shape_within
        ) as is_relative,
        if(
            one.shape_to is null,
            abs(one.ratio / one.shape_scale - 1) <= one.shape_within,
            null
        ) as is_scaled,
        one.ours >= one.shape_at_least as is_shape_above,
        one.ours <= one.shape_at_most as is_shape_below,
        if(
            one.shape_order is null
            or count(one.ours) over (
                partition by one.paper, one.item, one.shape_order
            ) < 2,
            null,
            crossed.item is null
        ) as is_ordered,
        one.shape_to is not null and reference.ratio is null
            as is_without_reference,
    from compared as one
    left join compared as reference
        on
            one.paper = reference.paper
            and one.item = reference.item
            and one.shape_to = reference.key
    left join crossed
        on
            one.paper = crossed.paper
            and one.item = crossed.item
            and one.key = crossed.key
),

worded as (
    select
        *,
        case
            when ours is null then 'not here, because ' || absent
            when contradiction is not null
                then 'the paper contradicts itself: ' || contradiction
            when aside is not null then aside
            when
                coalesce(within, at_least, at_most) is not null
                and coalesce(is_within, true)
                and coalesce(is_above, true)
                and coalesce(is_below, true)
                then 'reproduced'
            when
                coalesce(
                    is_relative,
                    is_scaled,
                    is_ordered,
                    is_shape_above,
                    is_shape_below
                )
                is not null
                and coalesce(is_relative, true)
                and coalesce(is_scaled, true)
                and coalesce(is_ordered, true)
                and coalesce(is_shape_above, true)
                and coalesce(is_shape_below, true)
                then 'same shape'
            when is_without_reference
                then
                    'not reproduced; its shape cannot be determined, because '
                    || shape_to
                    || ' is not here'
            else 'not reproduced'
        end as verdict,
    from judged
)

select
    paper,
    item,
    quantity,
    unit,
    "where",
    published,
    rounded(ours) as ours,
    rounded(ratio) as ratio,
    set_up_differs_in,
    verdict,
    rule,
    key,
    query,
from worded
order by paper, place
