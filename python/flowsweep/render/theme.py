"""Colours, shapes and axes that all figures share.

Colours are CSS variables, so that one SVG serves light, dark and print. The palette is
used in order: one colour is one application in the whole report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# name, light, light text, dark, dark text, Vega shape
PALETTE = (
    ("blue", "#006cb4", "#006cb4", "#259cde", "#259cde", "circle"),
    ("orange", "#d86105", "#bd5300", "#f98924", "#f98924", "square"),
    ("olive", "#54571c", "#54571c", "#e4d530", "#e4d530", "triangle-up"),
    ("sky", "#3e9dca", "#127eaa", "#2cd6e8", "#2cd6e8", "diamond"),
    ("violet", "#4b1eaa", "#4b1eaa", "#795de7", "#876df8", "triangle-down"),
    ("green", "#2a9754", "#078543", "#85ba92", "#85ba92", "cross"),
    ("pink", "#cf7a95", "#ae5c77", "#c176a3", "#c176a3", "triangle-right"),
    ("brown", "#580c02", "#580c02", "#b04a24", "#cf6640", "triangle-left"),
    ("ink", "#05343e", "#05343e", "#eef3f5", "#eef3f5", "square"),
    ("grey", "#7b707a", "#7b707a", "#776c63", "#8c8077", "circle"),
)
# name: light, dark
COLOURS = {
    "page": ("#ffffff", "#15191e"),
    "text": ("#1b1f24", "#e6e9ec"),
    "muted": ("#57606a", "#9aa4af"),
    "axis": ("#8c959f", "#6b7681"),
    "grid": ("#e4e7eb", "#2a3038"),
    "panel": ("#f6f8fa", "#1d232a"),
    "context": ("#d5dae0", "#3a424c"),
    "ok": ("#1a7f37", "#4ac26b"),
    "note": ("#9a6700", "#e3b341"),
    "bad": ("#b42318", "#ff7b72"),
    "link": ("#0a66c2", "#6cb6ff"),
}
SEQUENTIAL = (
    ("#f3f7fb", "#c9ddee", "#8fbadb", "#4f93c4", "#1f6aa5", "#0b4479", "#06284a"),
    ("#1a2430", "#17395a", "#1a5a8e", "#2f80b8", "#62a6d3", "#a3cde8", "#e8f3fb"),
)
# Curves of a family from the baseline outward: even steps in OKLCH, blue to orange. Lightness is
# monotone, so that a colour-blind reader sees the order; contrast with the page is at least 3:1.
RAMP = (
    ("#0a289e", "#4727a8", "#7027a5", "#952997", "#b62d81", "#d13864", "#e44c3d", "#e76d04"),
    ("#afd5fe", "#b1c5fe", "#bcb1ff", "#d294fe", "#e37ddb", "#ea6dae", "#e9617e", "#e05b4a"),
)
FONT = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"

TEXT, MUTED, AXIS, GRID = "var(--text)", "var(--muted)", "var(--axis)", "var(--grid)"
BAD, PAGE, CONTEXT = "var(--bad)", "var(--page)", "var(--context)"
FULL_WIDTH, HALF_WIDTH = 780, 352


@dataclass(frozen=True)
class Series:
    """The look of one application (with one problem), the same in every figure."""

    app: str
    problem: str
    label: str
    index: int

    @property
    def css_class(self) -> str:
        """The class that gives an element the mark's colour as the variable `--c`."""
        return f"app-{self.index % len(PALETTE) + 1}"

    @property
    def colour(self) -> str:
        """The colour of marks."""
        return f"var(--app-{self.index % len(PALETTE) + 1})"

    @property
    def text_colour(self) -> str:
        """The colour of words, as a rule darker than that of marks."""
        return f"var(--app-{self.index % len(PALETTE) + 1}-text)"

    @property
    def shape(self) -> str:
        """The shape of points."""
        return PALETTE[self.index % len(PALETTE)][5]


def colours(*, dark: bool) -> dict[str, str]:
    """Returns the colours of a theme by the names of their CSS variables, without the dashes."""
    pick = 1 if dark else 0
    found = {name: pair[pick] for name, pair in COLOURS.items()}
    for number, (_, light, light_text, night, night_text, _) in enumerate(PALETTE, start=1):
        mark, words = (night, night_text) if dark else (light, light_text)
        found |= {f"app-{number}": mark, f"app-{number}-text": words}
    for name, ramps in (("seq", SEQUENTIAL), ("ramp", RAMP)):
        found |= {f"{name}-{number}": colour for number, colour in enumerate(ramps[pick], start=1)}
    return found


def css_variables(dark: bool) -> str:
    """Returns all colours of one theme as CSS declarations."""
    return "\n  ".join(f"--{name}: {colour};" for name, colour in colours(dark=dark).items())


def ramp(count: int) -> list[str]:
    """Returns colours for this many curves, evenly spaced on the ramp; its middle for one."""
    last = len(RAMP[0]) - 1
    places = [last / 2] if count == 1 else [last * number / (count - 1) for number in range(count)]
    return [f"var(--ramp-{round(place) + 1})" for place in places]


def css_classes() -> str:
    """Returns a class per application: the page's policy forbids colours in `style` attributes."""
    numbers = range(1, len(PALETTE) + 1)
    return "\n".join(f".app-{number} {{ --c: var(--app-{number}); }}" for number in numbers)


def config() -> dict[str, Any]:
    """Returns the Vega-Lite configuration of every figure."""
    text = {"labelFont": FONT, "titleFont": FONT, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": None,
        "padding": {"left": 4, "top": 8, "right": 4, "bottom": 4},
        "font": FONT,
        "view": {"stroke": None},
        "aria": False,
        "axis": {
            **text,
            "labelColor": MUTED,
            "titleColor": MUTED,
            "titleFontWeight": 500,
            "gridColor": GRID,
            "gridWidth": 1,
            "domainColor": AXIS,
            "tickColor": AXIS,
            "tickSize": 4,
            "labelPadding": 4,
            "labelOverlap": "greedy",
            "labelFlush": False,
            "labelBound": False,
        },
        "axisX": {"grid": False, "titleAnchor": "end", "titlePadding": 6},
        "axisY": {
            "domain": False,
            "ticks": False,
            "titleAngle": 0,
            "titleAlign": "left",
            "titleAnchor": "start",
            "titleX": -44,
            "titleY": -14,
            "titleBaseline": "bottom",
        },
        "title": {
            "anchor": "start",
            "fontSize": 14,
            "offset": 10,
            "frame": "bounds",
            # a name may be long: the problem is part of it
            "limit": FULL_WIDTH,
            "color": TEXT,
            "font": FONT,
        },
        "legend": {
            **text,
            "orient": "top",
            "direction": "horizontal",
            "labelColor": MUTED,
            "titleColor": MUTED,
            "symbolSize": 360,
            "symbolStrokeWidth": 2.5,
            "columnPadding": 14,
        },
        "line": {"strokeWidth": 1.75, "strokeCap": "round", "strokeJoin": "round"},
        "point": {"size": 36, "filled": True, "opacity": 1},
        "rule": {"strokeWidth": 1, "color": MUTED},
        "area": {"opacity": 0.22},
        "text": {"font": FONT, "fontSize": 12, "color": TEXT},
        "concat": {"spacing": 24},
        "range": {"category": [f"var(--app-{number})" for number in range(1, 11)]},
    }
