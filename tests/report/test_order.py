"""A text search of a query finds all tables that DuckDB's own parser finds."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.warehouse import reports_folder
from flowsweep.warehouse.order import in_order, table_names

FOLDERS = ("facts", "figures", "models")
MODELS = {
    path.stem for name in ("facts", "models") for path in (reports_folder() / name).glob("*.sql")
}


def parse_names(sql: str) -> tuple[set[str], set[str]]:
    """Returns the tables that a query reads, and the common table expressions that it defines."""
    with duckdb.connect() as connection:
        ((text,),) = connection.execute("select json_serialize_sql(?)", [sql]).fetchall()
    parsed = json.loads(text)
    assert not parsed["error"], parsed
    read: set[str] = set()
    defined: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, list):
            for one in node:
                visit(one)
        elif isinstance(node, dict):
            if node.get("type") == "BASE_TABLE":
                read.add(node["table_name"])
            if isinstance(map_ := node.get("cte_map"), dict):
                defined.update(one["key"] for one in map_["map"])
            for one in node.values():
                visit(one)

    visit(parsed)
    return read - defined, defined


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_names_are_those_that_duckdb_parses(folder: str) -> None:
    files = sorted((reports_folder() / folder).glob("*.sql"))
    assert len(files) > 40
    for path in files:
        sql = path.read_text(encoding="utf-8")
        read, defined = parse_names(sql)
        found = table_names(sql)
        assert read <= found, path
        # Besides tables, the search finds table functions and what follows `is distinct from`.
        assert not (found - read - defined) & MODELS, path


def test_no_expression_hides_a_model() -> None:
    """A common table expression with the name of a model would be taken for that model."""
    hidden = {}
    for path in (path for name in FOLDERS for path in (reports_folder() / name).glob("*.sql")):
        _, defined = parse_names(path.read_text(encoding="utf-8"))
        if defined & MODELS:
            hidden[path.name] = defined & MODELS
    assert hidden == {}


def test_a_circle_is_refused() -> None:
    with pytest.raises(FlowsweepError, match="in a circle: a -> b"):
        in_order({"a": {"b"}, "b": {"a"}})
