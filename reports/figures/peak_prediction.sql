-- One row per application, problem and number of ranks: the peak between the sites as fewer ranks
-- predict it, the measured one, and the lightpaths that it needs.
with

measured as (
    select
        app,
        problem,
        ranks,
        count(*) as runs,
        median(peak_mbit_s) as peak_mbit_s,
        median(direction_peak_mbit_s) as direction_peak_mbit_s,
    from rank_peaks
    group by app, problem, ranks
),

-- over the runs that were measured or predict
shortest as (
    select
        app,
        problem,
        max(shortest_ns) / 1e6 as shortest_ms,
    from rank_peaks
    group by app, problem
),

bases as (
    select
        app,
        problem,
        any_value(rate_asked_mbit_s) as lightpath_mbit_s,
    from points
    where is_baseline
    group by app, problem
),

final as (
    select
        fits.app,
        fits.problem,
        fits.ranks,
        fits.is_tried,
        fits.from_ranks,
        fits.from_runs,
        rounded(fits.predicted_mbit_s) as predicted_mbit_s,
        rounded(fits.low_mbit_s) as low_mbit_s,
        rounded(fits.high_mbit_s) as high_mbit_s,
        measured.runs,
        rounded(measured.peak_mbit_s) as measured_mbit_s,
        rounded(fits.predicted_mbit_s / measured.peak_mbit_s - 1) as error,
        measured.peak_mbit_s
        between fits.low_mbit_s and fits.high_mbit_s as is_within,
        rounded(fits.direction_predicted_mbit_s) as direction_predicted_mbit_s,
        rounded(measured.direction_peak_mbit_s) as direction_measured_mbit_s,
        bases.lightpath_mbit_s,
        ceil(fits.direction_predicted_mbit_s / bases.lightpath_mbit_s)::bigint
            as lightpaths_predicted,
        ceil(measured.direction_peak_mbit_s / bases.lightpath_mbit_s)::bigint
            as lightpaths_measured,
        shortest.shortest_ms,
    from rank_fits as fits
    left join bases using (app, problem)
    left join shortest using (app, problem)
    left join measured using (app, problem, ranks)
)

select * from final
order by app, problem, ranks
