-- The distribution of each quantity of a flow by our parser and by Zeek, in cells of 1/20 decade.
with

cells as (
    select
        app,
        problem,
        run,
        quantity,
        engine,
        if(value > 0, 10 ^ ((floor(log10(value) * 20) + 1) / 20), 0) as upto,
        sum(count)::bigint as count,
    from engine_values
    group by all
)

select
    app,
    problem,
    run,
    quantity,
    engine,
    round(upto, 12) as upto,
    count,
    (sum(count) over so_far)::bigint as count_upto,
    (sum(count) over whole)::bigint as of_count,
    sum(count) over so_far / sum(count) over whole as share,
from cells
window
    whole as (partition by app, problem, run, quantity, engine),
    so_far as (
        partition by app, problem, run, quantity, engine
        order by upto
        rows between unbounded preceding and current row
    )
order by
    app, problem, run, quantity, engine, upto
