"""The warehouse models that are generated from the list of axes, as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep.experiment.axes import AXES, ON_LINES, columns, in_points, raw_columns
from flowsweep.warehouse import axis_lines, name_pairs

if TYPE_CHECKING:
    from flowsweep.experiment.axis import Axis, Column


def models() -> dict[str, str]:
    """Returns the SQL of each model by its name."""
    return {
        "axis_contract": _contract(),
        "run_axes": _run_axes(),
        "point_texts": _point_texts(),
        "compared_points": axis_lines.compared_points(),
        "axis_points": axis_lines.axis_points(),
        "plane_points": axis_lines.plane_points(),
        "name_pairs": name_pairs.name_pairs(),
    }


def _contract() -> str:
    """Returns a model without rows: the columns of `runs` for the axes, with their types."""
    listed = ",\n".join(f"    null::{kind} as {name}" for name, kind in raw_columns().items())
    return f"-- No rows: the columns of the axes, in base units.\nselect\n{listed}\nwhere false\n"


def _run_axes() -> str:
    shown = [part for column in columns() for part in _shown_columns(column)]
    others = [
        f"coalesce({column.raw}::varchar, '-')"
        for axis in in_points()
        if axis.name not in ON_LINES
        for column in axis.columns
    ]
    measured = [
        f"{axis.columns[0].raw_measured} is not null as is_{axis.name}_measured"
        for axis in in_points()
        if axis.columns[0].measured
    ]
    stated = [f"{name}::varchar" for name in raw_columns()]
    listed = ",\n    ".join(
        [
            *shown,
            *measured,
            f"coalesce(\n        {_lines(stated)}\n    ) is not null as has_axes",
            f"concat_ws(\n        ' ',\n        {_lines(others)}\n    ) as other_axes",
            f"row(\n        {_lines(_mildness_columns())}\n    ) as hardness",
        ]
    )
    return (
        "-- One row per run: its axes, in the units of the points. `other_axes` are all but those\n"
        "-- that a line tells apart; the mildest point has the least `hardness`; `has_axes`: its\n"
        "-- run.json names one of them.\n"
        f"select\n    run,\n    {listed},\nfrom stg_runs\n"
    )


def _lines(parts: list[str]) -> str:
    return ",\n        ".join(parts)


def _shown_columns(column: Column) -> list[str]:
    """Returns a point's columns; asked and measured values replace each other if missing."""
    scale = f" / {column.scale:.0e}".replace("e+0", "e") if column.scale else ""
    if column.measured is None:
        return [f"{column.raw}{scale} as {column.asked}"]
    return [
        f"coalesce({column.raw}, {column.raw_measured}){scale} as {column.asked}",
        f"coalesce({column.raw_measured}, {column.raw}){scale} as {column.measured}",
    ]


def _mildness_columns() -> list[str]:
    """Returns the columns that sort points from the mildest; unset on a line means no limit."""
    return [_hardness(axis) for axis in in_points() if axis.mildest is not None]


def _hardness(axis: Axis) -> str:
    sign = "-" if axis.mildest == "most" else ""
    unset = "'-inf'::double" if axis.name in ON_LINES else "0"
    return f"coalesce({sign}{axis.columns[0].asked}, {unset})"


#: One row per point; the fields in braces are filled from the list of axes.
POINT_TEXTS = """\
-- One row per point: `label` says what differs from the baseline of its application and
-- problem; `network` is equal at points that differ in the application alone,
-- `undisturbed` at those that differ in loss and jitter alone.
with

bases as (
    select distinct on (app, problem) *
    from point_axes
    where is_baseline
    order by point
),

compared as (
    select
        own.app,
        own.problem,
        own.point,
        own.is_baseline,
        concat_ws(
            ', ',
            {labels}
        ) as others,
        {queue} as queue,
        concat_ws(' ', {network}) as network,
        concat_ws(' ', {undisturbed}) as undisturbed,
    from point_axes as own
    left join bases as base
        on own.app = base.app and own.problem = base.problem
),

final as (
    select
        point,
        coalesce(
            nullif(
                concat_ws(
                    ', ',
                    nullif(others, ''),
                    if(
                        count(*) over (partition by app, problem, others) > 1,
                        queue,
                        null
                    )
                ),
                ''
            ),
            if(is_baseline, 'baseline', 'as the baseline')
        ) as label,
        network,
        undisturbed,
    from compared
)

select * from final
"""


def _point_texts() -> str:
    # Most sweeps derive the queue from rate and RTT: it is named only where nothing else differs.
    queue = AXES["queue"].columns[0]
    labels = ",\n            ".join(_label(column) for column in columns() if column != queue)
    return POINT_TEXTS.format(
        labels=labels,
        queue=_label(queue),
        network=_network_texts(),
        undisturbed=_undisturbed_texts(),
    )


def _network_texts() -> str:
    """Returns the values of all link and socket axes, as arguments of a function."""
    return ", ".join(
        f"coalesce({axis_lines.value_sql(axis, axis.columns[0], 'own')}::varchar, '-')"
        for axis in in_points()
        if axis.applies_to in ("link", "sockets")
    )


def _undisturbed_texts() -> str:
    """Returns the values of all axes except loss and jitter, as arguments of a function."""
    return ", ".join(
        f"coalesce(own.{column.asked}::varchar, '-')"
        for axis in in_points()
        if axis.name not in ("loss", "jitter")
        for column in axis.columns
    )


def _label(column: Column) -> str:
    name = f"own.{column.asked}"
    number = name if column.kind == "varchar" else f"printf('%.10g', {name}::double)"
    unit = f" || ' {column.unit}'" if column.unit else ""
    differs = f"{name} is distinct from base.{column.asked}"
    movers = _movers(column)
    if movers:
        # If another axis unset the column, that axis names the difference: `ranks 4`.
        moved = " or ".join(f"own.{mover} is distinct from base.{mover}" for mover in movers)
        differs += f" and not ({name} is null and ({moved}))"
    return f"if({differs}, '{column.head} ' || coalesce({number}{unit}, 'unset'), null)"


def _movers(column: Column) -> list[str]:
    """Returns the columns of the axes that change this column with them."""
    (own,) = (axis for axis in AXES.values() if column in axis.columns)
    return [
        other.asked for axis in AXES.values() if own.name in axis.moves for other in axis.columns
    ]
