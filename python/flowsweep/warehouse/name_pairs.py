"""The SQL of the model `name_pairs`: points that differ only in a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

# The SQL is built only from names in axes.py.
# ruff: noqa: S608
from flowsweep.experiment.axes import AXES, columns, in_points

if TYPE_CHECKING:
    from flowsweep.experiment.axis import Axis, Column


def name_pairs() -> str:
    """Returns the SQL: per axis of names, the points whose name differs from the baseline's."""
    pairs = "\n    union all by name\n".join(
        _pairs(axis, column)
        for axis in in_points()
        for column in axis.columns
        if column.kind == "varchar"
    )
    return f"""\
-- One row per axis of names (congestion control, variant ...) and point that has another
-- name than the baseline, with the point that differs from it in this name alone, and in what
-- follows from it, and has the baseline's.
with

bases as (
    select distinct on (app, problem) *
    from point_axes
    where is_baseline
    order by point
),

final as (
{pairs}
)

select * from final
"""


def _pairs(axis: Axis, column: Column) -> str:
    free = [column, *(moved for name in axis.moves for moved in AXES[name].columns)]
    same = "\n        and ".join(
        f"own.{other.asked} is not distinct from other.{other.asked}"
        for other in columns()
        if other not in free
    )
    return f"""\
    select
        own.app,
        own.problem,
        '{axis.name}' as axis,
        own.{column.asked} as name,
        base.{column.asked} as reference_name,
        own.point,
        other.point as reference_point,
    from point_axes as own
    inner join bases as base
        on own.app = base.app and own.problem = base.problem
    inner join point_axes as other
        on own.app = other.app and own.problem = other.problem
    where
        own.{column.asked} is distinct from base.{column.asked}
        and other.{column.asked} is not distinct from base.{column.asked}
        and {same}"""
