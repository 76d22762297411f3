-- One row per application, problem and point: what the completion time is made of, mean over the
-- runs.
--
-- The critical path takes what a host did as the consequence of what had arrived last. Where that
-- is right, a run computes as long on its path as the baseline's runs do, however far the hosts are
-- apart. Additional computing, as where work moves to other hosts, is not explained. If it computes
-- less, the same amount of the network's time passed while hosts computed anyway: that is not
-- explained either, and is taken from the network's parts in proportion.
with

paths as (
    select
        points.app,
        points.problem,
        points.point,
        points.variant,
        points.hosts_per_site,
        points.ranks,
        points.ranks_per_host,
        points.placement,
        points.is_baseline,
        path_times.* exclude (run),
    from path_times
    inner join point_runs using (run)
    inner join points on point_runs.point = points.point
),

-- the same program on the same hosts, at the baseline of the network
bases as (
    select
        app,
        problem,
        variant,
        hosts_per_site,
        ranks,
        ranks_per_host,
        placement,
        any_value(point) as point,
        avg(computing_s) as computing_s,
    from paths
    where is_baseline and not_explained_s = 0
    group by all
),

compared as (
    select
        paths.*,
        bases.computing_s as base_computing_s,
        paths.stall_s
        + paths.serialisation_s
        + paths.queueing_s
        + paths.recovery_s
        + paths.propagation_s as network_s,
        -- Without a run to compare with, computing is taken as it is.
        if(
            paths.point = bases.point or paths.not_explained_s > 0,
            paths.computing_s,
            coalesce(bases.computing_s, paths.computing_s)
        ) as due_s,
        greatest(paths.computing_s - due_s, 0) as more_s,
        least(greatest(due_s - paths.computing_s, 0), network_s) as beside_s,
        1 - coalesce(beside_s / nullif(network_s, 0), 0) as kept,
    from paths
    left join bases
        on
            paths.app = bases.app
            and paths.problem is not distinct from bases.problem
            and paths.variant is not distinct from bases.variant
            and paths.hosts_per_site is not distinct from bases.hosts_per_site
            and paths.ranks is not distinct from bases.ranks
            and paths.ranks_per_host is not distinct from bases.ranks_per_host
            and paths.placement is not distinct from bases.placement
),

means as (
    select
        point,
        count(*) as runs_used,
        avg(path_s) as path_s,
        avg(computing_s - more_s) as computing_s,
        avg(stall_s * kept) as stall_s,
        avg(serialisation_s * kept) as serialisation_s,
        avg(queueing_s * kept) as queueing_s,
        avg(recovery_s * kept) as recovery_s,
        avg(propagation_s * kept) as propagation_s,
        avg(not_explained_s + more_s + beside_s) as not_explained_s,
        avg(messages) as messages,
        avg(crossings) as crossings,
        any_value(base_computing_s) as base_computing_s,
    from compared
    group by point
),

final as (
    select
        points.*,
        means.* exclude (point),
    from means
    inner join printed_points as points on means.point = points.point
)

select * from final
order by app, problem, is_baseline desc, point
