-- The phases of Awari without its optimisations.
select
    'all' as key,
    sum(phase_s) filter (phase = 'sync')
    / nullif(sum(phase_s) filter (phase = 'busy'), 0) as ours,
from figure_phase_times
inner join main_problems using (app, problem)
where
    app = 'awari'
    and placement is null
    and variant = 'none'
    and rtt_asked_ms = (
        select min(rtt_asked_ms)
        from points
        where app = 'awari'
    )
