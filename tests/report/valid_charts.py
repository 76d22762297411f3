"""Checks what a figure hands to Vega-Lite against its schema, which Altair contains."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jsonschema

#: Path in the package `altair`, which takes two seconds to import.
SCHEMA = "vegalite/v6/schema/vega-lite-schema.json"


@cache
def _validator() -> jsonschema.Draft7Validator:
    import jsonschema  # imports a grammar of addresses that takes a second to read

    altair = Path(find_spec("altair").origin).parent
    return jsonschema.Draft7Validator(json.loads((altair / SCHEMA).read_text(encoding="utf-8")))


def valid(chart: Any) -> dict[str, Any]:
    """Returns the specification of a chart after checking it."""
    spec = chart.specification()
    # A row is valid whatever it contains; checking thousands takes long.
    checked = {**spec, "datasets": {name: rows[:1] for name, rows in spec["datasets"].items()}}
    faults = [error.message[:300] for error in _validator().iter_errors(checked)]
    assert not faults
    return spec
