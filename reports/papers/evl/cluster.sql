-- The hosts at each site.
select
    concat('hosts ', if(site = 'sandiego', 'san diego', site)) as key,
    count(distinct host) as ours,
from hosts
where site in ('chicago', 'sandiego')
group by site
