-- Completion time at the slowest rate, over that of the baseline, of applications that were tried
-- at a rate below the paper's severe deterioration.
select
    swept.app as key,
    arg_min(swept.slowdown, swept.rate_asked_mbit_s) as ours,
from figure_completion as swept
inner join paper_items as items
    on
        items.paper = 'kitatsuji'
        and items.item = 'table 3'
        and items.key = swept.app || ' severe'
where swept.axis = 'rate'
group by swept.app
having min(swept.rate_asked_mbit_s) < any_value(items.published)
