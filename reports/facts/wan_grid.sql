-- One row per run and column of the time in figures of traffic between places: at most 200 columns
-- of whole steps, but at least one for each stretch between long silences, numbered from 0. The
-- whole steps within a silence (see `long_silences`) are a column of their own (`is_silence`).
with

silences as (
    select
        steps.run,
        greatest(
            (long_silences.begin_ns + bin_ns - 1) // bin_ns - first_bin, 0
        ) as from_bin,
        least(long_silences.end_ns // bin_ns - first_bin, bins) as to_bin,
        (from_bin + step_bins - 1) // step_bins as begin_step,
        to_bin // step_bins as end_step,
    from wan_steps as steps
    inner join long_silences using (run)
    where begin_step < end_step
),

-- the stretches between silences; without a silence, all of the time
stretches as (
    select
        run,
        steps,
        begin_step,
        lead(silence_step, 1, steps) over (
            partition by run order by begin_step
        ) as end_step,
    from (
        select
            run,
            steps,
            0 as begin_step,
            0 as silence_step,
        from wan_steps
        union all
        select
            silences.run,
            wan_steps.steps,
            silences.end_step as begin_step,
            silences.begin_step as silence_step,
        from silences
        inner join wan_steps using (run)
    )
),

sized as (
    select
        run,
        begin_step,
        end_step - begin_step as stretch_steps,
        least(
            stretch_steps,
            greatest(
                least(steps, 200)
                * stretch_steps
                // sum(stretch_steps) over (partition by run),
                1
            )
        )::bigint as columns,
    from stretches
    where end_step > begin_step
),

numbered as (
    select
        *,
        unnest(generate_series(0, columns - 1)) as place,
    from sized
),

final as (
    select
        run,
        -- the first step of column c is the least s with s * columns // steps = c
        begin_step + (place * stretch_steps + columns - 1) // columns
            as begin_step,
        begin_step + ((place + 1) * stretch_steps + columns - 1) // columns
            as end_step,
        false as is_silence,
    from numbered
    union all
    select
        run,
        begin_step,
        end_step,
        true as is_silence,
    from silences
)

select
    *,
    row_number() over (partition by run order by begin_step) - 1
        as column_number,
from final
