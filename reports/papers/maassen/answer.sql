-- How many lightpaths each application needs, whether fewer ranks predict that, and what a link
-- that changes saves.
with

known as (
    select
        max(ours) filter (item = 'figure 2' and key = 'lightpaths') as checked,
        max(ours) filter (item = 'section 3.1.1 limited') as limited,
        max(ours) filter (key = '4K lightpath') as film_one,
        max(ours) filter (key = '4K both') as film_two,
        max(ours) filter (key = '2K lightpath') as small_film,
        max(ours) filter (item = 'section 3.3.1 second') as farm_second,
        max(ours) filter (item = 'section 3.1.1 estimate') as estimate,
        max(ours) filter (item = 'section 1' and key = 'saved') as saved,
        max(ours) filter (item = 'section 1' and key = 'cost') as cost,
    from paper_values
    where paper = 'maassen'
)

select
    nullif(
        concat_ws(
            ' ',
            format(
                'Model checking needs {} at the ranks tried: with one it takes {:.2f}'
                ' times as long as with two.',
                if(checked < 1.1, 'one lightpath', 'two lightpaths'),
                checked
            ),
            format(
                'With one lightpath and a limit on flushes it takes {:.2f} times as long as'
                ' with two lightpaths and no limit.',
                limited
            ),
            format(
                'A 4K film needs {} ({:.1f} frames a second with one, {:.1f} with two),'
                ' a 2K film {} ({:.1f}).',
                if(film_one >= 29.4, 'one', 'two'),
                film_one,
                film_two,
                if(small_film >= 29.4, 'one', 'more than one'),
                small_film
            ),
            format(
                'The search for supernovae needs {}: the second saves {} of what the first does.',
                if(farm_second <= 0.5, 'one', 'two'),
                if(farm_second < 0.005, 'nothing', format('{:.0f} %', 100 * farm_second))
            ),
            format(
                'The number that the most ranks need, predicted from fewer ranks, is {}.',
                if(estimate = 1, 'right', format('{:.2f} times what it is', estimate))
            ),
            coalesce(
                format(
                    'A lightpath that the farm gives back and asks for again saves'
                    ' {:.0f} % of what it offers and costs {}.',
                    100 * saved,
                    if(cost < 0.005, 'no time', format('{:.0f} % of the time', 100 * cost))
                ),
                if(
                    farm_second is not null,
                    'Links that change while the farm runs are not measured here.',
                    null
                )
            )
        ),
        ''
    ) as ours,
from known
