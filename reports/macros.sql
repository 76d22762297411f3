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
    -- Numbers are joined and sorted quicker than series: they stand for a series, and for one run
    -- of it.
    with named as (
        select
            row_number() over () as series_id,
            series,
        from (select distinct series from query_table(counted))
    ),

    runs_of as (
        select
            row_number() over () as part_id,
            named.series_id,
            counts.series,
            counts.run,
            sum(counts.count) as of_count,
        from query_table(counted) as counts
        inner join named on counts.series = named.series
        group by named.series_id, counts.series, counts.run
    ),

    own as (
        select
            runs_of.series_id,
            runs_of.part_id,
            counts.bucket,
            counts.top,
            counts.count,
        from query_table(counted) as counts
        inner join runs_of
            on
                counts.series = runs_of.series
                and counts.run is not distinct from runs_of.run
    ),

    pooled as (
        select
            series_id,
            bucket,
            max(top) as value,
            sum(count) as count,
        from own
        group by series_id, bucket
    ),

    placed as (
        select
            pooled.series_id,
            pooled.bucket,
            runs_of.part_id,
            runs_of.of_count,
        from pooled
        inner join runs_of on pooled.series_id = runs_of.series_id
    ),

    risen as (
        select
            placed.*,
            sum(coalesce(own.count, 0)) over (
                partition by placed.part_id order by placed.bucket
            ) as below,
        from placed
        left join own
            on
                placed.part_id = own.part_id
                and placed.bucket = own.bucket
    ),

    spread as (
        select
            series_id,
            bucket,
            min(below / of_count) as share_low,
            max(below / of_count) as share_high,
            sum(below) / sum(of_count) as share,
            sum(of_count) as of_count,
            count(*) as runs,
            if(count(*) = 1, any_value(part_id), null) as part_id,
        from risen
        group by series_id, bucket
    )

    select
        named.series,
        pooled.bucket,
        pooled.value,
        pooled.count::bigint as count,
        spread.of_count::bigint as of_count,
        round(spread.share, 6) as share,
        round(spread.share_low, 6) as share_low,
        round(spread.share_high, 6) as share_high,
        spread.runs,
        runs_of.run,
    from pooled
    inner join spread
        on
            pooled.series_id = spread.series_id
            and pooled.bucket = spread.bucket
    inner join named on pooled.series_id = named.series_id
    left join runs_of on spread.part_id = runs_of.part_id
);
