"""The absolute limits that an experiment file states, as a model of the warehouse."""

from __future__ import annotations

from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.experiment.load import about
from flowsweep.files import inputs
from flowsweep.warehouse.values import literal


def models(directory: Path) -> dict[str, str]:
    """Returns the SQL of the model `stated_needs`.

    Args:
        directory: results/<experiment>, which may contain experiment.yaml.
    """
    try:
        needs = about(inputs.read_text(directory / "experiment.yaml", "an experiment file")).need
    except FlowsweepError:
        # A file that cannot be read must not stop a query.
        needs = {}
    values = [
        f"    ({literal(outcome)}, {literal(limit.relation)}, {limit.value!r}, "
        f"{literal(limit.unit)})"
        for outcome, limit in needs.items()
    ]
    listed = ",\n".join(values or ["    ('', '', 0.0, '')"])
    return {
        "stated_needs": "-- One row per outcome whose limit the experiment file states, `need`.\n"
        "select\n    outcome,\n    relation,\n    limit_value::double as limit_value,\n    unit,\n"
        f"from (values\n{listed}\n) as stated (outcome, relation, limit_value, unit)\n"
        "where outcome != ''\n"
    }
