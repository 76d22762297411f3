"""Charts as specifications of Vega-Lite: nested dictionaries, made the way Altair's are written.

Altair itself takes two thirds of the time of a report: it copies all parts of a chart, fields that
are not set among them, each time that the chart becomes part of another.
"""

from __future__ import annotations

import json
from typing import Any

Channel = dict[str, Any]
Data = list[dict[str, Any]]
Spec = dict[str, Any]

_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}
_PARTS = frozenset({"layer", "concat", "hconcat", "vconcat"})
#: Channels that have the type of another one.
_SECONDARY = frozenset({"x2", "y2"})


class Chart:
    """Marks of some rows, or several charts in one. Its methods return others."""

    def __init__(self, data: Data | None = None, **spec: Any) -> None:
        self._data = data
        self._spec = spec

    def properties(self, **options: Any) -> Chart:
        """The chart with more properties of Vega-Lite, such as `width`."""
        return Chart(self._data, **{**self._spec, **options})

    def mark(self, kind: str, **options: Any) -> Chart:
        """The chart with such a mark: `line`, `bar`."""
        return self.properties(mark={"type": kind, **options})

    def encode(self, **channels: Channel | str) -> Chart:
        """The chart with more channels; one with no options is its field alone: `"end:Q"`."""
        made = {name: _channel(name, given) for name, given in channels.items()}
        return self.properties(encoding={**self._spec.get("encoding", {}), **made})

    def filtered(self, expression: str) -> Chart:
        """The chart of those rows for which an expression of Vega holds."""
        return self.properties(transform=[{"filter": expression}])

    def specification(self) -> Spec:
        """The chart as Vega-Lite reads it, each set of rows once."""
        known: dict[str, tuple[str, Data]] = {}
        spec = self.named(known)
        return {**spec, "datasets": dict(known.values())}

    def named(self, known: dict[str, tuple[str, Data]]) -> Spec:
        """The chart with names for its rows, which are added to those that are known."""
        spec = {
            key: [one.named(known) for one in part] if key in _PARTS else part
            for key, part in self._spec.items()
        }
        if self._data is None:
            return spec
        name, _ = known.setdefault(json.dumps(self._data), (f"data-{len(known)}", self._data))
        return {"data": {"name": name}, **spec}


def _channel(name: str, given: Channel | str) -> Channel:
    channel = field(given) if isinstance(given, str) else given
    if name not in _SECONDARY:
        return channel
    return {key: part for key, part in channel.items() if key != "type"}


def field(name: str, **options: Any) -> Channel:
    """A channel that shows a column, given with its type: `"rtt_ms:Q"`."""
    column, _, kind = name.rpartition(":")
    return {"field": column, "type": _TYPES[kind], **options}


def value(constant: float | str | list[int]) -> Channel:
    """A channel that is the same for all rows."""
    return {"value": constant}


def title(text: str | list[str], **options: Any) -> dict[str, Any]:
    """The title of a chart."""
    return {"text": text, **options}


def layer(*charts: Chart) -> Chart:
    """Charts on top of each other, the first at the bottom."""
    return Chart(layer=charts)


def concat(*charts: Chart, **options: Any) -> Chart:
    """Charts beside each other, in `columns`."""
    return Chart(concat=charts, **options)


def hconcat(*charts: Chart, **options: Any) -> Chart:
    """Charts beside each other."""
    return Chart(hconcat=charts, **options)


def vconcat(*charts: Chart, **options: Any) -> Chart:
    """Charts below each other."""
    return Chart(vconcat=charts, **options)
