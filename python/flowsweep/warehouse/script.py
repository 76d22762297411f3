"""Writes one script with all SQL from the Parquet files to the rows of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsweep import printing
from flowsweep.warehouse import computed
from flowsweep.warehouse.values import literal

if TYPE_CHECKING:
    from flowsweep.warehouse.database import Warehouse


def write_script(warehouse: Warehouse, name: str) -> str:
    """Returns the script of the query `name`, which plain `duckdb` can run."""
    catalog = warehouse.catalog
    query = catalog.sql(name)
    wanted = catalog.closure(query)
    # A newline in the name of the folder would end the comment.
    folder = printing.line(str(warehouse.directory))
    parts = [
        f"-- {name} of {folder}: the whole way from the Parquet files to the rows.",
        catalog.preamble.strip(),
    ]
    for other in catalog.order:
        if other in wanted:
            is_computed = other in computed.READS
            parts.append((_values if is_computed else _statement)(warehouse, other))
    return "\n\n".join([*parts, query.strip() + ";"]) + "\n"


def _statement(warehouse: Warehouse, name: str) -> str:
    """Returns a statement that creates a table, as a question may name a model several times."""
    return f"create or replace temp table {name} as\n{warehouse.body(name).strip()};"


def _values(warehouse: Warehouse, table: str) -> str:
    """Returns a computed table as SQL with its values, for a stand-alone script."""
    rows = warehouse.select(f"select * from {table} order by all").rows()  # noqa: S608
    values = ",\n".join(f"    ({', '.join(literal(item) for item in row)})" for row in rows)
    insert = f"\ninsert into {table} values\n{values};" if rows else ""
    definition = computed.definition(table)
    return f"-- {definition.note}\n{definition.statement};{insert}"
