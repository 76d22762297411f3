-- What Awari loses without one of its optimisations, as a share of what it loses without all: on
-- the grid, with as many ranks as at the baseline.
with

timed as (
    select
        variant,
        median(completion_s) as completion_s,
    from figure_completion
    where
        app = 'awari'
        and links = 1
        and placement is null
        and (problem, ranks, rtt_asked_ms, rate_asked_mbit_s) in (
            select (problem, ranks, rtt_asked_ms, rate_asked_mbit_s)
            from figure_completion
            where app = 'awari' and is_baseline
        )
    group by variant
)

select
    own.variant as key,
    (own.completion_s - every.completion_s)
    / nullif(without.completion_s - every.completion_s, 0) as ours,
from timed as own
cross join timed as every
cross join timed as without
where
    every.variant is null
    and without.variant = 'none'
    and own.variant <> 'none'
