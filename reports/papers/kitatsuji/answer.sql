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
            format('At the largest RTT as long as without: {}.', far.tolerant),
            format('Longer: {}.', far.sensitive),
            format('Gradually slower below, in Mbit/s: {}.', slow.gradual),
            format('Severely slower below: {}.', slow.severe),
            format('Never severely at the rates tried: {}.', kept.names)
        ),
        ''
    ) as ours,
from far
cross join slow
cross join kept
