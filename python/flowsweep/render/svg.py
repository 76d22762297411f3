"""Renders a chart as a static SVG that may stand inside the page.

Ids are prefixed with the figure's name (several SVGs share one page), numbers are cut to two
decimals, ARIA is left out (the table under the figure serves readers), and only those classes are
kept that the page's script needs to find panels, axes and marks. Vega escapes names in the text;
elements that draw nothing, such as scripts, are refused here.
"""

from __future__ import annotations

import itertools
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from flowsweep.errors import FlowsweepError
from flowsweep.render import drawing, inline, panels, theme

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowsweep.render.charts import Chart

#: V8 reserves 64 GiB of address space in one piece; the rest is for what else is loaded.
ROOM_BYTES = 66 << 30
MAP_NORESERVE = 0x4000  # Linux's value; Python does not define it
#: The elements that Vega draws with.
_ELEMENTS = frozenset({"svg", "g", "defs", "clipPath", "rect", "path", "line", "text", "tspan"})
_TAG = re.compile(r"""</?([\w:!?-]*)(?:[^<>"]|"[^"]*")*>""")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_NOISE = re.compile(
    r' (?:aria-[a-z]+|role|pointer-events|class)="[^"]*"| opacity="1"'
    rf'| font-family="{re.escape(theme.FONT)}"'
)
_LABEL = re.compile(r' aria-label="([^"]*)"[^>]* aria-roledescription="[a-z]+ mark"')
_CLASS = re.compile(r' class="mark-([a-z]+) role-([a-z-]+) ?([a-z0-9_]*)')
#: Classes that are kept for the page's script, by Vega's role.
_KEPT = {"axis": "axis", "axis-grid": "grid", "axis-tick": "tick", "axis-label": "label"}
_NOTHING = re.compile(r'<path class="(?:background|foreground)"[^>]*d="M0,0h0v0h0Z"[^>]*/>')
_ID = re.compile(r'\bid="([^"]+)"|url\(#([^)]+)\)')
_LINE = re.compile(r'(?<= d=")M-?[\d.]+,-?[\d.]+(?:L-?[\d.]+,-?[\d.]+)+(?=Z?")')
# Matches, in JSON, escapes of control characters and other characters that `inline.printable`
# changes. A backslash in the text itself may look like such an escape.
_UNPRINTABLE = re.compile("\\\\[ubf]|[\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Matches an attribute of a value that has no place on its scale, such as 0 on a log axis.
_NO_PLACE = re.compile(r' (?!data-)[a-zA-Z0-9-]+="[^"]*\b(?:NaN|Infinity|undefined)\b')


def _two_decimals(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def _without_idle_points(found: re.Match[str]) -> str:
    """Removes points that do not change a line: repeated, or straight along an axis."""
    kept: list[list[str]] = []
    for point in (one.split(",") for one in found[0][1:].split("L")):
        if kept and point == kept[-1]:
            continue
        if len(kept) > 1 and any(
            kept[-2][axis] == kept[-1][axis] == point[axis]
            and _is_between(kept[-2][1 - axis], kept[-1][1 - axis], point[1 - axis])
            for axis in (0, 1)
        ):
            kept.pop()
        kept.append(point)
    path = "M" + ",".join(kept[0])
    for (x, y), (next_x, next_y) in itertools.pairwise(kept):
        # Most curves here consist of steps, which take half the bytes this way.
        path += (
            f"H{next_x}" if y == next_y else f"V{next_y}" if x == next_x else f"L{next_x},{next_y}"
        )
    return path


def _is_between(first: str, middle: str, last: str) -> bool:
    return (float(middle) - float(first)) * (float(last) - float(middle)) > 0


class _Tags:
    """Rewrites the tags of one SVG, but not the text between them, which is names."""

    def __init__(self, name: str, known: Sequence[panels.Panel]) -> None:
        self._name = name
        self._ids: dict[str, str] = {}
        self._panels = {panel.group: panel.attributes for panel in known}

    def rewrite(self, found: re.Match[str]) -> str:
        """Returns a tag without noise, with short numbers and renumbered ids."""
        if found[1] not in _ELEMENTS:
            raise FlowsweepError(
                f"figure {self._name}: its SVG has an element that draws nothing",
                found=found[0][:80],
                expected=", ".join(sorted(_ELEMENTS)),
                remedy="this is a fault of flowsweep, or of an altered chart: report it",
            )
        tag = _LONG_NUMBER.sub(_two_decimals, _NOISE.sub("", found[0]))
        tag = _LINE.sub(_without_idle_points, tag)
        tag = _ID.sub(self._rename, tag)
        attributes = self._attributes(found[0])
        return f"<{found[1]}{attributes}{tag[len(found[1]) + 1 :]}" if attributes else tag

    def _attributes(self, tag: str) -> str:
        """Returns the attributes of an element that the page's script reads."""
        label = _LABEL.search(tag)
        if label:
            return f' data-tip="{label[1]}"'
        classes = _CLASS.search(tag)
        if not classes:
            return ""
        mark, role, name = classes.groups()
        if role in ("frame", "scope"):
            attributes = self._panels.get(name, {})
            text = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
            return f' class="panel"{text}' if attributes else ""
        kept = f"mark {mark}" if role == "mark" else _KEPT.get(role)
        return f' class="{kept}"' if kept else ""

    def _rename(self, found: re.Match[str]) -> str:
        # Vega counts ids over all charts of a process; renumbering keeps the bytes reproducible.
        old = found[1] or found[2]
        new = self._ids.setdefault(old, f"{self._name}-{len(self._ids)}")
        return found[0].replace(old, new)


def is_broken(text: str) -> bool:
    """Returns whether a browser could not draw part of an SVG, because a place is not a number."""
    return _NO_PLACE.search(text) is not None


@cache
def check_room() -> None:
    """Raises if memory limits would make the renderer's JavaScript engine abort the process.

    Raises:
        FlowsweepError: Too little address space; names the limit and the remedy.
    """
    import mmap
    import resource

    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    try:
        mmap.mmap(-1, ROOM_BYTES, flags=flags, prot=0).close()
    except OSError as error:
        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limit = error.strerror if soft == resource.RLIM_INFINITY else f"ulimit -v {soft >> 10}"
        raise FlowsweepError(
            "no figure can be drawn: too little address space",
            found=limit,
            expected=f"{ROOM_BYTES >> 30} GiB that the renderer may reserve; it uses little of it",
            remedy="ulimit -v unlimited; to bound memory itself: systemd-run --user --scope "
            "-p MemoryMax=4G flowsweep report ...",
        ) from None


def render(chart: Chart, name: str) -> Markup:
    """Returns the SVG element, scalable, without a fixed size in pixels.

    Args:
        chart: A chart whose colours are CSS variables of `theme`.
        name: Prefix of its ids.

    Raises:
        FlowsweepError: It contains more than a drawing.
    """
    check_room()
    specification, known = _specify(chart)
    return _make_embeddable(drawing.draw(specification), name, known)


def begin(chart: Chart, name: str) -> Callable[[], Markup]:
    """Starts drawing in another process; the returned function waits for `render`'s result."""
    check_room()
    specification, known = _specify(chart)
    picture = drawing.ensure_drawer().submit(specification)
    return lambda: _make_embeddable(picture.result(), name, known)


def _specify(chart: Chart) -> tuple[str, list[panels.Panel]]:
    """Returns the chart in Vega-Lite's JSON, and its panels."""
    spec = chart.specification()
    # Converting each text separately is slow, and hardly ever changes one.
    if _UNPRINTABLE.search(json.dumps(spec, ensure_ascii=False)):
        spec = _printable(spec)
    spec["config"] = theme.config()
    known = panels.take_panels(spec)
    panels.label_marks(spec)
    return json.dumps(spec), known


def _make_embeddable(text: str, name: str, known: Sequence[panels.Panel]) -> Markup:
    """Turns an SVG drawn by Vega into an element of the page: fewer bytes, unique ids."""
    text = _TAG.sub(_Tags(name, known).rewrite, _NOTHING.sub("", text))
    text = text.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "", 1).replace(
        ' version="1.1"', "", 1
    )
    text = text.replace(
        "<svg ",
        f'<svg role="img" aria-labelledby="{name}-title" aria-describedby="{name}-caption" '
        f'font-family="{theme.FONT}" ',
        1,
    )
    return Markup(text)  # noqa: S704 - its elements were looked at one by one


def _printable(spec: Any) -> Any:
    """Makes all texts of a specification printable: a control character would abort the process."""
    if isinstance(spec, str):
        return inline.printable(spec)
    if isinstance(spec, dict):
        return {_printable(key): _printable(value) for key, value in spec.items()}
    return [_printable(one) for one in spec] if isinstance(spec, (list, tuple)) else spec
