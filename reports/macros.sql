-- The part of a time of `total` ns that may lie above the quantile q.
create or replace temp macro above_ns(total, q) as
total - ceil(total * q - 0.001);

-- Four decimals, or so many that a small value keeps three digits and does not become 0.
create or replace temp macro rounded(value) as
round(value, greatest(4, 2 - floor(log10(greatest(abs(value), 1e-30))))::integer);

-- The bucket of a value in a histogram: 64 to the octave, each up to 1.1 % wide and with its upper
-- end; one of its own for 0.
create or replace temp macro bucket_of(value) as
if(value > 0, ceil(log2(greatest(value, 1e-300)) * 64 - 1e-9), -100000)::integer;

-- The empirical distribution function of each series, at the largest value of each bucket, where
-- it is exact. `counted` names a table with one row per series, run and bucket: `top`, the largest
-- value in it, and `count`. The runs of a series are added up; `share_low` and `share_high` are
-- the least and the greatest share of one of them. `run` is theirs where there is one.
create or replace temp macro distribution(counted) as table (
    with pooled as (
        select
            series,
            bucket,
            max(top) as value,
            sum(count) as count,
        from query_table(counted)
        group by series, bucket
    ),

    runs_of as (
        select
            series,
            run,
            sum(count) as of_count,
        from query_table(counted)
        group by series, run
    ),

    risen as (
        select
            pooled.series,
            pooled.bucket,
            runs_of.run,
            sum(coalesce(own.count, 0)) over (
                partition by pooled.series, runs_of.run order by pooled.bucket
            ) as below,
            runs_of.of_count,
        from pooled
        inner join runs_of on pooled.series = runs_of.series
        left join query_table(counted) as own
            on
                pooled.series = own.series
                and pooled.bucket = own.bucket
                and runs_of.run = own.run
    ),

    spread as (
        select
            series,
            bucket,
            min(below / of_count) as share_low,
            max(below / of_count) as share_high,
            sum(below) / sum(of_count) as share,
            sum(of_count) as of_count,
            count(*) as runs,
            if(count(*) = 1, any_value(run), null) as run,
        from risen
        group by series, bucket
    )

    select
        pooled.series,
        pooled.bucket,
        pooled.value,
        pooled.count::bigint as count,
        spread.of_count::bigint as of_count,
        round(spread.share, 6) as share,
        round(spread.share_low, 6) as share_low,
        round(spread.share_high, 6) as share_high,
        spread.runs,
        spread.run,
    from pooled
    inner join spread on pooled.series = spread.series and pooled.bucket = spread.bucket
);
