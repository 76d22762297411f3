"""Gives access to an experiment's results in Python: the rows of figures, and SQL over tables."""

from __future__ import annotations

import difflib
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep import dictionary
from flowsweep.errors import FlowsweepError
from flowsweep.warehouse import Warehouse, figure_names, figures, reports_folder

if TYPE_CHECKING:
    import polars as pl


class Results:
    """The results of one experiment, as `flowsweep.open` returns them.

    If tables are rewritten while this is open, the next query reads the new ones.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._warehouse = Warehouse(directory)

    def __repr__(self) -> str:
        """Returns one line, without reading anything."""
        return f"<results of {self.directory}>"

    @cached_property
    def queries(self) -> dict[str, str]:
        """What each query of the report answers, by its name."""
        folder = reports_folder()
        return {
            name: figures.read_description(folder, name)["description"] for name in figure_names()
        }

    @cached_property
    def models(self) -> dict[str, str]:
        """The SQL text of each model that `sql` may name, by its name."""
        return dict(sorted(self._warehouse.catalog.models.items()))

    @property
    def tables(self) -> list[str]:
        """Names of the Parquet tables that at least one run has."""
        return sorted(self._warehouse.catalog.tables)

    def rows(self, name: str) -> pl.DataFrame:
        """Returns the rows of a query or of a model.

        A query that cannot be answered here has no rows; `why_empty` says what it lacks.

        Raises:
            FlowsweepError: No query or model has this name.
        """
        if name in self.queries or name in self._warehouse.catalog.zeek_tables:
            return self._warehouse.rows(name)
        if name in self.models:
            return self.sql(f"select * from {name}")  # noqa: S608 - the name of a model
        raise _unknown_name("query or model", name, [*self.queries, *self.models])

    def why_empty(self, name: str) -> str | None:
        """Says what a query lacks to have rows here; None if nothing is known to be missing."""
        return self._warehouse.lack(name)

    def sql(self, text: str) -> pl.DataFrame:
        """Returns the rows of a DuckDB query, which may name every model.

        Raises:
            FlowsweepError: DuckDB refuses the text.
        """
        return self._warehouse.select(text)

    def to_polars(self, table: str) -> pl.LazyFrame:
        """Returns a lazy Parquet table of all runs, with the columns `run` and `host`.

        Args:
            table: `flows`, `packets` and so on, or `runs`.

        Raises:
            FlowsweepError: No run has this table.
        """
        import polars as pl

        folder = self.directory / "tables"
        if table == "runs":
            return pl.scan_parquet(folder / "runs.parquet")
        if table not in self.tables:
            raise _unknown_name("table", table, [*self.tables, "runs"])
        # Tables that an earlier version wrote may lack columns.
        return pl.scan_parquet(
            folder / f"run=*/host=*/{table}.parquet",
            hive_partitioning=True,
            missing_columns="insert",
            extra_columns="ignore",
        )

    def columns(self, name: str) -> pl.DataFrame:
        """Explains the columns of a table or query.

        Returns:
            `column`, `type`, `unit`, `meaning` and `source`, all text.
        """
        import polars as pl

        return pl.DataFrame(
            dictionary.columns(name),
            schema=dict.fromkeys(dictionary.HEADER, pl.String),
            orient="row",
        )


def open(directory: str | os.PathLike[str]) -> Results:  # noqa: A001 - users write flowsweep.open
    """Opens the results of an experiment.

        results = flowsweep.open("results/demo")
        results.rows("thresholds")
        results.sql("select run, completion_s from runs where is_valid")
        results.to_polars("flows").filter(protocol="tcp").collect()

    Args:
        directory: results/<experiment>, with tables/ inside.

    Raises:
        FlowsweepError: There are no tables.
    """
    return Results(Path(directory))


def _unknown_name(kind: str, name: str, known: list[str]) -> FlowsweepError:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return FlowsweepError(
        f'no {kind} is called "{name}"', remedy=f"did you mean {near[0]}?" if near else None
    )
