-- What one of three sites sends to the others with Awari without its optimisations, over the rate
-- of a link: what a rank sends, times the share of it that leaves the site, times a third of the
-- ranks.
with

sent as (
    select
        max(ours) filter (key = 'core') as mb_s,
        max(ours) filter (key = 'share') as share,
    from verstoep_figures_3_5_and_8
),

base as (
    select
        max(ranks) as ranks,
        max(rate_asked_mbit_s) as rate_mbit_s,
    from figure_completion
    where app = 'awari' and is_baseline
)

select
    'all' as key,
    sent.mb_s * 8 * sent.share * base.ranks / 3 / base.rate_mbit_s as ours,
from sent
cross join base
