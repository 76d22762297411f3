"""Builds charts as specifications of Vega-Lite, nested dictionaries, with an API like Altair's.

Altair itself takes two thirds of the time of a report: it copies all parts of a chart, including
fields that are not set, each time that the chart becomes part of another.
"""

from __future__ import annotations

import json
from typing import Any

Channel = dict[str, Any]
Data = list[dict[str, Any]]
Spec = dict[str, Any]

_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}
_PARTS = frozenset({"layer", "concat", "hconcat", "vconcat"})
#: Channels that take their type from another one.
_SECONDARY = frozenset({"x2", "y2"})


class Chart:
    """Marks of some rows, or several charts in one. Its methods return new charts."""

    def __init__(self, data: Data | None = None, **spec: Any) -> None:
        self._data = data
        self._spec = spec

    def properties(self, **options: Any) -> Chart:
        """Returns the chart with more properties of Vega-Lite, such as `width`."""
        return Chart(self._data, **{**self._spec, **options})

    def mark(self, kind: str, **options: Any) -> Chart:
        """Returns the chart with a mark of this kind, such as `line` or `bar`."""
        return self.properties(mark={"type": kind, **options})

    def encode(self, **channels: Channel | str) -> Chart:
        """Returns the chart with more channels; one without options may be its field: `"end:Q"`."""
        made = {name: _channel(name, given) for name, given in channels.items()}
        return self.properties(encoding={**self._spec.get("encoding", {}), **made})

    def filtered(self, expression: str) -> Chart:
        """Returns the chart of the rows for which an expression of Vega is true."""
        return self.properties(transform=[{"filter": expression}])

    def specification(self) -> Spec:
        """Returns the chart as Vega-Lite reads it, with each set of rows once."""
        known: dict[str, tuple[str, Data]] = {}
        spec = self.named(known)
        return {**spec, "datasets": dict(known.values())}

    def named(self, known: dict[str, tuple[str, Data]]) -> Spec:
        """Returns the chart with names in place of its rows, which it adds to `known`."""
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
    """Returns a channel that shows a column, given with its type: `"rtt_ms:Q"`."""
    column, _, kind = name.rpartition(":")
    return {"field": column, "type": _TYPES[kind], **options}


def value(constant: float | str | list[int]) -> Channel:
    """Returns a channel that is the same for all rows."""
    return {"value": constant}


def title(text: str | list[str], **options: Any) -> dict[str, Any]:
    """Returns the title of a chart."""
    return {"text": text, **options}


def layer(*charts: Chart) -> Chart:
    """Stacks charts on top of each other, the first at the bottom."""
    return Chart(layer=charts)


def concat(*charts: Chart, **options: Any) -> Chart:
    """Places charts beside each other, in `columns`."""
    return Chart(concat=charts, **options)


def hconcat(*charts: Chart, **options: Any) -> Chart:
    """Places charts beside each other."""
    return Chart(hconcat=charts, **options)


def vconcat(*charts: Chart, **options: Any) -> Chart:
    """Places charts below each other."""
    return Chart(vconcat=charts, **options)
