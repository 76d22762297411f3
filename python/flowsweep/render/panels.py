"""Describes the panels of a figure for the page's script: their scales, and what they show.

Vega draws pixels. So that a reader can ask for the value at a place, and for other scales, each
panel of the SVG carries the ends of its axes, and a mark the words of its row.
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
#: Between the lines of what a mark shows.
SEPARATOR = "; "
#: Marks of all rows together.
WHOLE = ("line", "area", "trail")
PARTS = ("layer", "concat", "hconcat", "vconcat")


@dataclass(frozen=True)
class Panel:
    """A panel of a chart.

    Attributes:
        group: The class that Vega gives its group in the SVG.
        attributes: What the group carries for the script.
    """

    group: str
    attributes: dict[str, str]


def about(x: str = "", y: str = "", **attributes: str | None) -> str:
    """The description of a panel.

    Args:
        x: What its x axis counts, where no title beside the axis says so.
        y: The same of its y axis.
        attributes: What it shows, by what a reader may choose: application, point, host, direction.
    """
    known = {key: value for key, value in attributes.items() if value}
    return json.dumps({"of": known, "x": x, "y": y}, ensure_ascii=False)


def tip(*parts: str | None) -> str:
    """The words of a mark, a line each: what its row says."""
    return SEPARATOR.join(part for part in parts if part)


def take_panels(spec: Spec) -> list[Panel]:
    """The panels of a specification, whose descriptions are taken out of it."""
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
                # In small multiples the first panel alone has it.
                titles.setdefault((axis, scale), title)
                attributes[f"data-{axis}"] = f"{scale} {title}".strip()
        found.append(Panel(f"{group}_group" if group else "root", attributes))
    return found


def label_marks(spec: Spec) -> None:
    """Lets Vega write the words of each mark whose data have them, as its label."""
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
    # A line is one mark: the words of its first row are not those of the others.
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
    """The panels with their names in Vega: concat_1_concat_0."""
    for part in PARTS[1:]:
        if part in spec:
            for number, one in enumerate(spec[part]):
                yield from _leaves(one, f"{name}_concat_{number}" if name else f"concat_{number}")
            return
    yield name, spec


def _scale(leaf: Spec, axis: str) -> tuple[str, str]:
    """Kind and ends of a scale, `log 0.5 64`, and the title of its axis; empty if it has none."""
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
