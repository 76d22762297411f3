"""Which points lie on a line that varies one axis, or in the plane of RTT and rate, as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

# The SQL is built only from names in axes.py.
# ruff: noqa: S608
from flowsweep.experiment.axes import AXES, ON_LINES, columns, in_points

if TYPE_CHECKING:
    from flowsweep.experiment.axis import Axis, Column

QUEUE = AXES["queue"].columns[0]


def compared_points() -> str:
    """Returns the SQL of a model: per point, which values equal its baseline's."""
    compared = ",\n    ".join(
        f"{value_sql(axis, column, 'own')} is not distinct from {value_sql(axis, column, 'base')}\n"
        f"        as has_{column.asked}"
        for axis in in_points()
        for column in axis.columns
    )
    besides_queue = ",\n                ".join(
        f"own.{column.asked}" for column in columns() if column != QUEUE
    )
    return f"""\
-- One row per point of the sweep: which values it has in common with the baseline of its
-- application and problem.
with

bases as (
    select distinct on (app, problem) *
    from point_axes
    where is_baseline
    order by point
)

select
    own.*,
    {compared},
    -- a queue that follows from rate and RTT is no axis of its own
    count(distinct coalesce(own.{QUEUE.asked}, -1)) over (
        partition by
                own.app,
                own.problem,
                {besides_queue}
    ) <= 1 as is_queue_implied,
from point_axes as own
inner join bases as base
    on own.app = base.app and own.problem = base.problem
"""


def plane_points() -> str:
    """Returns the SQL of a model: the points that differ from the baseline only in RTT and rate."""
    free = {column.asked for name in ("rtt", "rate") for column in AXES[name].columns}
    fixed = [
        "(is_queue_implied or has_queue_bytes)" if column == QUEUE else f"has_{column.asked}"
        for column in columns()
        if column.asked not in free
    ]
    where = "\n    and ".join(fixed)
    return f"""\
-- One row per point of the plane of RTT and rate: all else is as at the baseline of its
-- application and problem. Planes without a point that is off in both are left out.
select
    app,
    problem,
    point,
    is_baseline,
    rtt_asked_ms,
    rtt_ms,
    rate_asked_mbit_s,
    -- without a limit there is no time that a byte takes
    coalesce(1 / rate_mbit_s, 0) as us_per_bit,
    rate_mbit_s,
from compared_points
where
    {where}
qualify
    bool_or(not has_rtt_asked_ms and not has_rate_asked_mbit_s)
    over (partition by app, problem)
"""


def axis_points() -> str:
    """Returns the SQL of a model: one row per line through a baseline and point on it."""
    lines = "\n    union all by name\n".join(
        _line(axis, column) for axis in in_points() for column in axis.columns
    )
    return f"""\
-- One row per line of the sweep and point on it. A line varies one column of an axis and keeps
-- all others at the baseline of its application and problem; the line of the axis `problem` has
-- the baselines of one application's problems, compared with that of the problem with most runs.
with

bases as (
    select distinct on (app, problem) *
    from point_axes
    where is_baseline
    order by point
),

lines as (
{lines}
),

sizes as (
    select
        app,
        problem,
        count(*) as runs,
    from runs
    group by app, problem
),

problems as (
    select
        bases.app,
        bases.problem,
        'problem' as axis,
        'name' as kind,
        '' as unit,
        0 as mildness,
        bases.app as line,
        null::double as x,
        bases.problem as shown,
        bases.point,
        row_number() over (
            partition by bases.app order by sizes.runs desc, bases.problem asc
        ) = 1 as is_reference,
    from bases
    inner join sizes using (app, problem)
),

counted as (
    select
        *,
        count(*) over (partition by axis, unit, line) as points,
    from (
        from lines
        union all by name
        from problems
    )
),

final as (
    select * exclude (points)
    from counted
    where points >= 2
)

select * from final
"""


def value_sql(axis: Axis, column: Column, table: str) -> str:
    """Returns the value of a point in `table`; 0 if it is unset and the axis may be 0."""
    name = f"{table}.{column.asked}"
    is_zero = axis.may_be_zero and axis.name not in ON_LINES
    return f"coalesce({name}, 0)" if is_zero else name


def _line(axis: Axis, column: Column) -> str:
    """Returns the points that equal the baseline except in `column` and what moves with it."""
    fixed = [
        "(is_queue_implied or has_queue_bytes)"
        if other == QUEUE and column != QUEUE
        else f"has_{other.asked}"
        for holder in in_points()
        if holder.name not in axis.moves
        for other in holder.columns
        if other != column
    ]
    mildness = {"least": 1, "most": -1, None: 0}[axis.mildest]
    if column.kind == "varchar":
        kind, x = "name", "null::double"
    else:
        kind = "number"
        value = value_sql(axis, column, "compared_points")
        x = value.replace(column.asked, column.shown) + "::double"
    is_there = f"(has_{column.asked} or {column.asked} is not null)"
    where = "\n        and ".join([*fixed, is_there])
    return f"""\
    select
        app,
        problem,
        '{axis.name}' as axis,
        '{kind}' as kind,
        '{column.unit}' as unit,
        {mildness} as mildness,
        concat_ws(' ', app, problem) as line,
        {x} as x,
        {column.asked}::varchar as shown,
        point,
        is_baseline as is_reference,
    from compared_points
    where
        {where}"""
