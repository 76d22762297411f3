"""Table `published`: values that the experiment's papers state, and ours."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from flowsweep import numbers
from flowsweep.render.tables import Column, badge, table, words
from flowsweep.warehouse import paper_items

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowsweep.render.figure import Context

    Row = dict[str, Any]

#: The verdicts in the order in which they are counted, and their colours.
JUDGED = {
    "reproduced": "ok",
    "same shape": "ok",
    "not reproduced": "note",
    "not here": "muted",
}
#: Verdicts of values that are shown but not judged.
ASIDE = dict.fromkeys(["the paper contradicts itself", *paper_items.ASIDE], "muted")
VERDICTS = JUDGED | ASIDE
#: Verdicts that read differently after a number of values.
COUNTED = {
    "the paper contradicts itself": "contradicted by the paper itself",
    "other reading": "of another reading",
    "other quantity": "of another quantity",
}


def draw(context: Context) -> Markup | None:
    """Makes a row per value; only the first of equal items and set-ups is printed."""
    rows = context.rows("published").rows(named=True)
    if not rows:
        return None
    several = len({row["paper"] for row in rows}) > 1

    def item(row: Row) -> str:
        return f"{row['paper']}, {row['item']}" if several else str(row["item"])

    columns = [
        Column("item", _blank_repeated([item(row) for row in rows]), is_number=False),
        Column("quantity, and what differs", _quantities(rows), is_number=False),
        Column("published", [_with_unit(row, numbers.plain(row["published"])) for row in rows]),
        Column("ours", [_with_unit(row, numbers.estimate(row["ours"])) for row in rows]),
        Column("ratio", [numbers.estimate(row["ratio"]) for row in rows]),
        words("verdict, by its rule", rows, _verdict),
    ]
    return table("published", columns)


def heading(context: Context) -> str:
    """States the number of values with each verdict; counts unjudged ones separately."""
    rows = context.rows("published").rows(named=True)
    found = Counter(_kind(row["verdict"]) for row in rows)

    def counted(kinds: Iterable[str]) -> str:
        return ", ".join(
            f"{found[kind]} {COUNTED.get(kind, kind)}" for kind in kinds if found[kind]
        )

    judged = sum(found[kind] for kind in JUDGED)
    values = numbers.plural(judged, "value or property", "values and properties")
    aside = counted(ASIDE)
    return f"Of {values}: {counted(JUDGED)}" + (f"; not judged: {aside}" if aside else "")


def _kind(verdict: str) -> str:
    return next(kind for kind in VERDICTS if verdict.startswith(kind))


def _quantities(rows: list[Row]) -> list[str]:
    """Returns what was measured and, if not as in the row above, how the set-up differs."""
    differs = _blank_repeated([row["set_up_differs_in"] or "" for row in rows])
    return [
        Markup("{}<small>{}</small>").format(row["quantity"], more) if more else row["quantity"]
        for row, more in zip(rows, differs, strict=True)
    ]


def _verdict(row: Row) -> str:
    kind = _kind(row["verdict"])
    more = row["verdict"].removeprefix(kind).lstrip(",;: ")
    below = more or row["rule"] or ""
    return Markup("{}<small>{}</small>").format(badge(kind, VERDICTS[kind]), below)


def _with_unit(row: Row, text: str) -> str:
    is_bare = text == numbers.NONE or row["unit"] in ("", "share")
    return text if is_bare else f"{text} {row['unit']}"


def _blank_repeated(cells: list[str]) -> list[str]:
    """Empties each cell that repeats the one above it."""
    return ["" if place and cell == cells[place - 1] else cell for place, cell in enumerate(cells)]
