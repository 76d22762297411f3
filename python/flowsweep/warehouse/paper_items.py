"""Reads the values that a paper states from reports/papers/<paper>/items.yaml; see the README."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flowsweep.warehouse import figures

#: The columns of the model `paper_items` and their types.
COLUMNS = {
    "paper": "varchar",
    "place": "integer",
    "item": "varchar",
    "key": "varchar",
    "quantity": "varchar",
    "unit": "varchar",
    "where": "varchar",
    "published": "double",
    "query": "varchar",
    "set_up_differs_in": "varchar",
    "absent": "varchar",
    "aside": "varchar",
    "contradiction": "varchar",
    "scale": "double",
    "within": "double",
    "at_least": "double",
    "at_most": "double",
    "shape_to": "varchar",
    "shape_within": "double",
    "shape_scale": "double",
    "shape_order": "varchar",
    "shape_tolerance": "double",
    "shape_at_least": "double",
    "shape_at_most": "double",
    "rule": "varchar",
    "cell": "json",
    "drawn": "json",
}
NO_RUN = "no run of this experiment that counts has it"
#: Reasons why a value is shown but not judged.
ASIDE = {
    "set-up": "the experiment file sets it, or it holds by construction",
    "fitted": "ours was fitted to it",
    "other reading": "the paper can be read so, too; another row has the reading that is judged",
    "other quantity": "it counts something else here than in the paper; agreement is chance",
    "judged elsewhere": "it follows from values that are judged",
}

Cell = dict[str, Any]


def cells(folder: Path) -> list[Cell]:
    """Returns all values that a paper states, in its order, each as a mapping of `COLUMNS`.

    Args:
        folder: reports/papers/<paper>.
    """
    paper = figures.read(folder / "items.yaml")
    found: list[Cell] = []
    for item, stated in paper["items"].items():
        for row in stated.get("rows", [[]]):
            fields = dict(zip(stated.get("columns", ()), row, strict=True))
            for value, about in stated.get("values", {"published": {}}).items():
                given = fields | about | {"value": value}
                own = {name: one for name, one in given.items() if one is not None}
                merged = paper | stated | own | {"published": fields.get(value)}
                found.append(_cell(folder.name, len(found), item, merged, own))
    return found


def _cell(paper: str, place: int, item: str, merged: Cell, fields: Cell) -> Cell:
    def text(name: str, otherwise: str | None = None) -> str | None:
        words: str | None = merged.get(name, otherwise)
        return None if words is None else words.format(**fields)

    def find_text(name: str) -> str | None:
        """Returns the text for this value: one for the whole row, or one by the value's name."""
        given = merged.get(name)
        words: str | None = given.get(fields["value"]) if isinstance(given, dict) else given
        return words

    reproduced, shape = merged.get("reproduced") or {}, merged.get("same_shape") or {}

    def number(rule: dict[str, Any], name: str) -> float | None:
        """Returns the number that a rule gives, directly or as the name of a field of the row."""
        given = rule.get(name)
        return fields[given] if isinstance(given, str) else given

    def named(name: str) -> str | None:
        words: str | None = shape.get(name)
        return None if words is None else words.format(**fields)

    cell = {
        "paper": paper,
        "place": place,
        "item": item,
        "key": text("key", "all"),
        "quantity": text("quantity"),
        "unit": text("unit", ""),
        "where": text("where", item),
        "published": merged["published"],
        "query": text("query"),
        "set_up_differs_in": text("differs"),
        "absent": text("absent", NO_RUN),
        "aside": find_text("aside"),
        "contradiction": find_text("contradiction"),
        "scale": merged.get("scale", 1),
        "within": number(reproduced, "within"),
        "at_least": number(reproduced, "at_least"),
        "at_most": number(reproduced, "at_most"),
        "shape_to": named("relative_to"),
        "shape_within": number(shape, "within"),
        "shape_scale": number(shape, "scale"),
        "shape_order": named("order"),
        "shape_tolerance": number(shape, "tolerance"),
        "shape_at_least": number(shape, "at_least"),
        "shape_at_most": number(shape, "at_most"),
        "cell": json.dumps(fields),
        "drawn": _drawn(merged.get("drawn"), fields),
    }
    return cell | {"rule": _rule(cell, text("why"))}


def _drawn(place: dict[str, str] | None, fields: Cell) -> str | None:
    """Returns the place of a value in a figure, as JSON; None if its item is in none."""
    if place is None:
        return None
    return json.dumps({name: text.format(**fields) for name, text in place.items()})


def _rule(cell: Cell, why: str | None) -> str | None:
    """Returns the rule for the verdict on a value in words, with its reason."""
    if cell["aside"] is not None:
        return f"not judged: {ASIDE[cell['aside']]}"
    if cell["contradiction"] is not None:
        return "not judged: what the paper says elsewhere cannot be so, too"
    texts = [*_sizes(cell), *_shapes(cell)]
    if not texts:
        return None
    return "; ".join(texts) + (f" ({why})" if why else "")


def _sizes(cell: Cell) -> Iterator[str]:
    """Yields the rules about a single value."""
    if cell["within"] is not None:
        scaled = "" if cell["scale"] == 1 else f" of {cell['scale']:g} times the published"
        yield f"reproduced: within {100 * cell['within']:g} %{scaled}"
    for kind, low, high in (
        ("reproduced", cell["at_least"], cell["at_most"]),
        ("same shape", cell["shape_at_least"], cell["shape_at_most"]),
    ):
        if low is not None and high is not None:
            yield f"{kind}: between {low:g} and {high:g}"
        elif low is not None or high is not None:
            yield f"{kind}: at least {low:g}" if high is None else f"{kind}: at most {high:g}"


def _shapes(cell: Cell) -> Iterator[str]:
    """Yields the rules that compare a value with others, or with a scaled published value."""
    if cell["shape_to"] is not None:
        yield (
            f"same shape: over that of {cell['shape_to']} as published, "
            f"within {100 * cell['shape_within']:g} %"
        )
    if cell["shape_scale"] is not None:
        yield (
            f"same shape: within {100 * cell['shape_within']:g} % of {cell['shape_scale']:g} times "
            "the published"
        )
    if cell["shape_order"] is not None:
        tolerance = cell["shape_tolerance"]
        ties = f", where {100 * tolerance:g} % are a tie" if tolerance else ""
        yield f"same shape: {cell['shape_order']} in the published order{ties}"
