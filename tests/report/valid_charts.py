"""What a figure hands to Vega-Lite, checked against its schema, which Altair brings."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema
from altair.vegalite.v6.schema.core import load_schema


@cache
def _validator() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(load_schema())


def valid(chart: Any) -> dict[str, Any]:
    """The specification of a chart."""
    spec = chart.specification()
    # A row is valid whatever it holds; checking thousands takes long.
    checked = {**spec, "datasets": {name: rows[:1] for name, rows in spec["datasets"].items()}}
    faults = [error.message[:300] for error in _validator().iter_errors(checked)]
    assert not faults
    return spec
