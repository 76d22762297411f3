"""Describes the panels of a figure for the page's script: their scales, and what they show.

Vega draws pixels. Each panel of the SVG carries the ends of its axes, and each mark the words of
its row, so that a reader can ask for the value at a place, and for other scales.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Spec = dict[str, Any]

#: The field of a chart's data that says what a mark shows.
TIP = "tip"
#: Separates the lines of what a mark shows.
SEPARATOR = "; "
#: Kinds of mark that draw all rows together.
WHOLE = ("line", "area", "trail")
PARTS = ("layer", "concat", "hconcat", "vconcat")


@dataclass(frozen=True)
class Panel:
    """A panel of a chart.

    Attributes:
        group: The class that Vega gives its group in the SVG.
        attributes: The attributes that the group carries for the script.
    """

    group: str
    attributes: dict[str, str]


def about(x: str = "", y: str = "", **attributes: str | None) -> str:
    """Returns the description of a panel.

    Args:
        x: What its x axis shows, if no title beside the axis says so.
        y: The same for its y axis.
        attributes: What it shows, for a reader to choose by: application, point, host, direction.
    """
    known = {key: value for key, value in attributes.items() if value}
    return json.dumps({"of": known, "x": x, "y": y}, ensure_ascii=False)


def tip(*parts: str | None) -> str:
    """Joins the words of a mark, a line each."""
    return SEPARATOR.join(part for part in parts if part)


def take_panels(spec: Spec) -> list[Panel]:
    """Returns the panels of a specification and removes their descriptions from it."""
    found = []
    titles: dict[tuple[str, str], str] = {}
    for group, leaf in _leaves(spec, ""):
        described = leaf.pop("description", None)
        details = json.loads(described) if described else {"of": {}}
        attributes = {"data-of": json.dumps(details["of"], ensure_ascii=False)}
        for axis in "xy":
            scale, title = _scale(leaf, axis)
            if scale:
                title = details.get(axis) or title or titles.get((axis, scale), "")
                # In small multiples only the first panel has a title.
                titles.setdefault((axis, scale), title)
                attributes[f"data-{axis}"] = f"{scale} {title}".strip()
        found.append(Panel(f"{group}_group" if group else "root", attributes))
    return found


def label_marks(spec: Spec) -> None:
    """Makes Vega write the words of each mark as its label, if its data have them."""
    described = {
        name: len({row.get(TIP) for row in rows})
        for name, rows in spec.get("datasets", {}).items()
        if any(TIP in row for row in rows)
    }
    _label_marks(spec, None, described)


def _label_marks(spec: Spec, outer: str | None, described: dict[str, int]) -> None:
    data = spec.get("data", {}).get("name", outer)
    mark = spec.get("mark")
    mark = {"type": mark} if isinstance(mark, str) else mark
    # A line is one mark: words that differ between its rows cannot label it.
    known = described.get(data or "", 0)
    if mark and (known == 1 or (known and mark["type"] not in WHOLE)):
        spec["mark"] = {**mark, "aria": True}
        spec["encoding"] = {
            **spec.get("encoding", {}),
            "description": {"field": TIP, "type": "nominal"},
        }
    for part in PARTS:
        for one in spec.get(part, ()):
            _label_marks(one, data, described)


def _leaves(spec: Spec, name: str) -> Iterator[tuple[str, Spec]]:
    """Yields the panels with their names in Vega, such as concat_1_concat_0."""
    for part in PARTS[1:]:
        if part in spec:
            for number, one in enumerate(spec[part]):
                yield from _leaves(one, f"{name}_concat_{number}" if name else f"concat_{number}")
            return
    yield name, spec


def _scale(leaf: Spec, axis: str) -> tuple[str, str]:
    """Returns kind and ends of a scale, `log 0.5 64`, and its axis' title; empty if it has none."""
    scale = title = ""
    for one in _units(leaf):
        channel = one.get("encoding", {}).get(axis, {})
        about_scale = channel.get("scale") or {}
        domain = about_scale.get("domain")
        if isinstance(domain, list) and all(isinstance(end, (int, float)) for end in domain):
            scale = scale or f"{about_scale.get('type', 'linear')} {domain[0]:.6g} {domain[1]:.6g}"
            title = title or channel.get("title") or ""
    return scale, title


def _units(spec: Spec) -> Iterator[Spec]:
    yield spec
    for one in spec.get("layer", ()):
        yield from _units(one)
