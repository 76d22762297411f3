-- Which applications tolerate the largest RTT, and below which rates they suffer.
with

named as (
    select
        paper_values.*,
        case split_part(key, ' ', 1)
            when 'nqueens' then 'N Queens'
            when 'jigsaw' then 'the puzzle'
            when 'ssor' then 'LU'
            when 'taskgraph' then 'task scheduling'
        end as name,
    from paper_values
    where paper = 'kitatsuji'
),

far as (
    select
        string_agg(format('{} ({:.2f} times)', name, ours), ', ' order by ours)
        filter (ours < 1.1) as tolerant,
        string_agg(format('{} ({:.1f} times)', name, ours), ', ' order by ours)
        filter (ours >= 1.1) as sensitive,
    from named
    where item = 'figure 5' and not contains(key, ' ')
),

slow as (
    select
        string_agg(format('{} ({:.0f})', name, ours), ', ' order by ours desc)
        filter (ends_with(key, 'gradual_low')) as gradual,
        string_agg(format('{} ({:.0f})', name, ours), ', ' order by ours desc)
        filter (ends_with(key, 'severe')) as severe,
    from named
    where item = 'table 3'
),

kept as (
    select string_agg(name, ', ' order by name) as names
    from (
        select name
        from named
        where item = 'figure 7'
        group by name
        having max(ours) < 1.5
    )
)

select
    nullif(
        concat_ws(
            ' ',
            format('At the largest RTT these programs take no longer: {}.', far.tolerant),
            format('These take longer: {}.', far.sensitive),
            format('They slow down gradually below these rates in Mbit/s: {}.', slow.gradual),
            format('They slow down severely below these: {}.', slow.severe),
            format('These never slow down severely at the rates tried: {}.', kept.names)
        ),
        ''
    ) as ours,
from far
cross join slow
cross join kept
