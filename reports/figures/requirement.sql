-- One row per application, problem and outcome: the network it needs to stay within 10 % and
-- 50 % of the outcome at its baseline, and the traffic it makes at the baseline.
with

limits as (
    select
        app,
        problem,
        outcome,
        max(estimate) filter (axis = 'rate' and level < 1.3)
            as rate_gradual_mbit_s,
        max(low) filter (axis = 'rate' and level < 1.3)
            as rate_gradual_low_mbit_s,
        max(high) filter (axis = 'rate' and level < 1.3)
            as rate_gradual_high_mbit_s,
        max(state) filter (axis = 'rate' and level < 1.3) as rate_gradual_state,
        max(estimate) filter (axis = 'rate' and level > 1.3)
            as rate_severe_mbit_s,
        max(low) filter (axis = 'rate' and level > 1.3)
            as rate_severe_low_mbit_s,
        max(high) filter (axis = 'rate' and level > 1.3)
            as rate_severe_high_mbit_s,
        max(state) filter (axis = 'rate' and level > 1.3) as rate_severe_state,
        max(hardest) filter (axis = 'rate') as lowest_rate_mbit_s,
        max(estimate) filter (axis = 'rtt' and level < 1.3) as rtt_gradual_ms,
        max(low) filter (axis = 'rtt' and level < 1.3) as rtt_gradual_low_ms,
        max(high) filter (axis = 'rtt' and level < 1.3) as rtt_gradual_high_ms,
        max(state) filter (axis = 'rtt' and level < 1.3) as rtt_gradual_state,
        max(estimate) filter (axis = 'rtt' and level > 1.3) as rtt_severe_ms,
        max(low) filter (axis = 'rtt' and level > 1.3) as rtt_severe_low_ms,
        max(high) filter (axis = 'rtt' and level > 1.3) as rtt_severe_high_ms,
        max(state) filter (axis = 'rtt' and level > 1.3) as rtt_severe_state,
        max(hardest) filter (axis = 'rtt') as highest_rtt_ms,
    from threshold_estimates
    inner join baselines using (app, problem)
    where
        threshold_estimates.buffer_bytes
        is not distinct from baselines.buffer_bytes
    group by app, problem, outcome
),

-- bins for which a peak may be stated
bins as (
    select
        *,
        wire_bytes * 8e3 / bin_ns as mbit_s,
    from (
        select
            peak_bins.*,
            floor_steps(
                traffic.bin_start_ns - peak_bins.origin_ns, peak_bins.bin_ns
            ) as bin,
            bin >= first_bin and bin < first_bin + bins as is_within,
            sum(traffic.wire_bytes)::bigint as wire_bytes,
        from shown_host_traffic as traffic
        inner join peak_bins using (run, host, direction)
        group by all
    )
),

-- Bytes by the time stamps of their packets: a merged packet is not spread, because it would lose
-- bytes to the time before the run. What a host sends to itself is in both directions alike.
stamped as (
    select
        bins.run,
        bins.host,
        way_past(hosts.addresses, bins.src_ip, bins.dst_ip) as direction,
        sum(bins.wire_bytes) as bytes,
    from shown_stg_throughput as bins
    inner join hosts using (run, host)
    inner join windows using (run, host)
    where
        bins.src_ip <> bins.dst_ip
        and epoch_ns(bins.bin_start) // windows.bin_ns
        between windows.first_bin and windows.first_bin + windows.bins - 1
    group by all
),

-- both directions of the shown host in the shown run
traffic as (
    select
        shown_runs.app,
        shown_runs.problem,
        traffic.direction,
        max(traffic.mbit_s) filter (is_within) as peak_mbit_s,
        coalesce(any_value(stamped.bytes), 0) as bytes,
        -- Bins without times of their own are one that covers the whole run.
        sum(traffic.wire_bytes) * 8e3 / coalesce(
            any_value(traffic.mean_over_ns),
            if(
                any_value(traffic.is_borrowed),
                any_value(traffic.bins * traffic.bin_ns),
                null
            )
        ) as mean_mbit_s,
        -- the 99 % quantile over all bins, empty ones included
        coalesce(
            list_sort(list(traffic.mbit_s) filter (is_within), 'desc')[
                (
                    any_value(traffic.bins)
                    - ceil(any_value(traffic.bins) * 0.99) + 1
                )::bigint
            ],
            0
        ) as p99_mbit_s,
        any_value(traffic.bin_ns) / 1e6 as bin_ms,
        any_value(traffic.shortest_ns) / 1e6 as shortest_ms,
        any_value(traffic.is_borrowed) as is_borrowed,
    from bins as traffic
    inner join shown_runs using (run)
    inner join shown_hosts using (run, host)
    inner join runs using (run)
    left join stamped using (run, host, direction)
    where traffic.is_within or runs.stands_alone
    group by shown_runs.app, shown_runs.problem, traffic.direction
),

busier as (
    select
        * exclude (is_borrowed),
        bool_or(is_borrowed) over (partition by app, problem) as is_borrowed,
    from traffic
    qualify
        row_number() over (
            partition by app, problem order by bytes desc, direction desc
        ) = 1
),

grades as (
    select
        runs.app,
        runs.problem,
        arg_max(captures.grade, (captures.grade_rank, captures.grade))
            as worst_grade,
        -- null without a capture
        sum(captures.packets) filter (runs.is_baseline)::bigint
            as baseline_packets,
    from captures
    inner join runs using (run)
    where runs.is_valid and not runs.is_warmup
    group by runs.app, runs.problem
),

-- Only runs with hosts at several sites; a host of unknown site counts as apart.
crossings as (
    select
        runs.app,
        runs.problem,
        coalesce(sum(sent.packets), 0)::bigint as crossing_packets,
    from runs
    left join (
        select
            run,
            sum(packets) as packets,
        from flows
        where is_counted and is_between_sites
        group by run
    ) as sent using (run)
    where
        runs.is_valid
        and not runs.is_warmup
        and runs.run in (
            select run from hosts
            group by run
            having count(distinct site) > 1
        )
        and runs.run in (select run from captures)
        and (
            runs.run in (
                select run from table_rows
                where kind = 'flows'
            )
            or runs.run not in (
                select run from table_rows
                where kind = 'throughput'
            )
        )
    group by runs.app, runs.problem
),

counts as (
    select
        app,
        problem,
        count(*) filter (is_valid and not is_warmup) as runs_used,
        if(
            runs_used = 1,
            any_value(run) filter (is_valid and not is_warmup),
            null
        ) as run,
        count(*) filter (not is_valid and not is_warmup) as runs_left_out,
    from runs
    group by app, problem
),

final as (
    select
        counts.app,
        counts.problem,
        outcome_baselines.outcome,
        outcome_baselines.unit as outcome_unit,
        outcome_baselines.better,
        counts.run,
        rounded(outcome_baselines.value) as baseline_value,
        round(baselines.completion_s, 4) as baseline_s,
        round(baselines.rtt_ms, 4) as baseline_rtt_ms,
        round(baselines.rate_mbit_s, 4) as baseline_rate_mbit_s,
        baselines.buffer_bytes,
        limits.* exclude (app, problem, outcome),
        busier.direction as busier_direction,
        -- Packets without a time of their own leave the peak unknown.
        if(busier.is_borrowed, null, rounded(busier.peak_mbit_s)) as peak_mbit_s,
        if(busier.is_borrowed, null, rounded(busier.p99_mbit_s)) as p99_mbit_s,
        -- As in throughput_series, a run has no mean if its few bins reach so far beyond its ends
        -- that the mean over its own time exceeds the busiest bin.
        if(
            busier.is_borrowed or busier.mean_mbit_s <= busier.peak_mbit_s,
            rounded(busier.mean_mbit_s),
            null
        ) as mean_mbit_s,
        busier.bin_ms,
        busier.shortest_ms,
        busier.is_borrowed,
        counts.runs_used,
        counts.runs_left_out,
        grades.worst_grade,
        grades.baseline_packets,
        crossings.crossing_packets,
        outcome_baselines.place,
    from counts
    inner join outcome_baselines using (app, problem)
    left join baselines using (app, problem)
    left join limits using (app, problem, outcome)
    left join crossings using (app, problem)
    left join busier using (app, problem)
    left join grades using (app, problem)
)

select * exclude (place) from final
order by app, problem, place
