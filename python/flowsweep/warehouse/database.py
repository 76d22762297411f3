"""Parquet tables of one experiment to the rows behind each figure, with DuckDB.

Everything that is asked is a file in reports/: `models/*.sql` become tables, in the
order in which they name each other; `figures/<name>.sql` is one question each;
`macros.sql` has the formulas that several of them use. What is made in Python (`computed`)
is put back as a table, so that a question may name it like a model.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import yaml

from flowsweep import addresses, content, printing
from flowsweep.errors import FlowsweepError
from flowsweep.files import file_sets, parquet_files
from flowsweep.warehouse import axis_models, computed, figures
from flowsweep.warehouse.order import in_order, table_names
from flowsweep.warehouse.values import dtype, literal

if TYPE_CHECKING:
    import polars as pl


def reports_folder() -> Path:
    """The folder with the SQL of the figures."""
    return content.folder("reports")


def figure_names(folder: Path | None = None) -> list[str]:
    """Names that `flowsweep query` knows, sorted."""
    return sorted(path.stem for path in ((folder or reports_folder()) / "figures").glob("*.sql"))


class Warehouse:
    """The tables of one experiment, and the questions that can be asked of them.

    Args:
        directory: results/<experiment>, with tables/ inside.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.tables = directory / "tables"
        self.folder = reports_folder()
        if not self.tables.is_dir():
            raise FlowsweepError(
                f"{directory}: there are no tables here",
                found=f"no folder {self.tables}",
                expected="results/<experiment> with tables/runs.parquet and tables/flows/",
                remedy="snakemake --configfile EXPERIMENT.yaml makes them",
            )
        if not (self.tables / "runs.parquet").is_file():
            raise FlowsweepError(
                f"{directory}: the table of the runs is missing",
                found=f"no file {self.tables / 'runs.parquet'}",
                expected="one row per run, made from runs/*/run.json",
                remedy=f"flowsweep runs {directory}/runs --output {self.tables}/runs.parquet"
                if (directory / "runs").is_dir()
                else "snakemake --configfile EXPERIMENT.yaml makes it",
            )
        self.models = axis_models.models() | {
            path.stem: path.read_text(encoding="utf-8")
            for path in sorted((self.folder / "models").glob("*.sql"))
        }
        macros = (self.folder / "macros.sql").read_text(encoding="utf-8")
        self.preamble = f"set timezone = 'UTC';\n\n{macros}\n{addresses.MACRO}"
        self.connection = duckdb.connect()
        self.connection.execute(self.preamble)
        self._made: set[str] = set()
        self._computed: dict[str, computed.Rows] = {}
        self._state: object = None
        self._is_reading = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The tables stay as they are while this is entered: all answers are of the same ones.

        What was read of tables that have changed since is forgotten.

        Raises:
            FlowsweepError: They have changed meanwhile: a network file system does not tell other
                machines of this one's locks.
        """
        if self._is_reading:
            yield
            return
        with file_sets.reading(self.tables):
            state = _state(self.tables)
            if state != self._state:
                self._made.clear()
                self._computed.clear()
                self._state = state
            self._is_reading = True
            try:
                yield
            finally:
                self._is_reading = False
            if _state(self.tables) != state:
                raise FlowsweepError(
                    f"{self.tables}: the tables were replaced while they were read",
                    expected="those of one writing",
                    remedy="ask again when nobody writes there",
                )

    def rows(self, name: str) -> pl.DataFrame:
        """The rows behind the figure `name`."""
        return self.select(self.sql(name))

    def select(self, sql: str) -> pl.DataFrame:
        """The rows of any query over the models.

        What it reads is made first, as tables and once: a figure's query names the
        same model several times, and many figures share one.
        """
        self._prepare(sql)
        return self._frame(sql)

    def _prepare(self, sql: str) -> None:
        """Makes all that a query reads."""
        wanted = self._closure(sql)
        with self.reading():
            for name in self._order:
                if name in wanted - self._made:
                    self._made.add(name)
                    self._make(name)

    def zeek_tables(self) -> list[str]:
        """Names of the tables of Zeek's logs, such as zeek_conn, sorted."""
        found = sorted(path.name for path in self.tables.glob("zeek_*") if path.is_dir())
        return [name for name in found if re.fullmatch("[a-z0-9_]+", name)]

    def sql(self, name: str) -> str:
        """The text of figures/<name>.sql; of one of Zeek's tables, all of its rows."""
        zeek = self.zeek_tables()
        if name in zeek:
            return f"select * from {name} order by all\n"  # noqa: S608 - a name that is there
        names = [*figure_names(self.folder), *zeek]
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
            raise FlowsweepError(
                f'no query is called "{name}"',
                found=f'"{name}"',
                expected=f"one of {', '.join(names)}",
                remedy=f"did you mean {near[0]}?" if near else None,
            )
        return (self.folder / "figures" / f"{name}.sql").read_text(encoding="utf-8")

    def lack(self, name: str) -> str | None:
        """Why the query `name` has no rows here and what it would need; None if nothing tells.

        The first of its `needs` that the experiment does not meet, in the words of needs.yaml.
        """
        need = self._unmet(name)
        return f"{need['lacks']}; needed: {need['wants']}" if need else None

    def lacks(self, name: str) -> str | None:
        """The first half of `lack`: what is not there."""
        need = self._unmet(name)
        return need["lacks"] if need else None

    def _unmet(self, name: str) -> dict[str, str] | None:
        """The first of a query's needs that the experiment does not meet."""
        known = self._described("needs.yaml")
        for key in figures.described(self.folder, name).get("needs", ()):
            need: dict[str, str] = known[key]
            if not self.select(need["ask"]).item():
                return need
        return None

    def claims(self, name: str) -> list[tuple[str, str]]:
        """What must hold of the rows of a query: a sentence and SQL each; see analysis.adds_up."""
        described = figures.described(self.folder, name).get("adds_up", ())
        return [(one["claim"], one["sql"]) for one in described]

    def keep_rows(self, name: str) -> None:
        """Makes the rows of a query the table `figure_rows`, which its claims read."""
        query = self.sql(name)
        self._prepare(query)
        self._execute(f"create or replace temp table figure_rows as {query}")

    def _described(self, file: str) -> dict[str, Any]:
        path = self.folder / file
        found = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
        return found if isinstance(found, dict) else {}

    def script(self, name: str) -> str:
        """All SQL that leads to the rows of `name`; plain `duckdb` runs it."""
        query = self.sql(name)
        wanted = self._closure(query)
        # A line end in the name of a folder would end the comment.
        folder = printing.line(str(self.directory))
        parts = [
            f"-- {name} of {folder}: the whole way from the Parquet files to the rows.",
            self.preamble.strip(),
        ]
        for other in self._order:
            if other in wanted:
                is_computed = other in computed.READS
                parts.append(self._literal(other) if is_computed else self._statement(other))
        return "\n\n".join([*parts, query.strip() + ";"]) + "\n"

    @cached_property
    def _order(self) -> list[str]:
        """Everything that a query may read, so that each comes after all that it reads."""
        return in_order(self._reads)

    @cached_property
    def _reads(self) -> dict[str, set[str]]:
        """What each file view, model and estimate reads."""
        reads: dict[str, set[str]] = {table: set() for table in self.zeek_tables()}
        reads |= computed.READS
        reads |= {name: table_names(text) for name, text in self.models.items()}
        # What a model calls file_x are the files of tables/x, whoever wrote them.
        asked = set().union(*reads.values())
        reads |= {name: set() for name in asked if name.startswith("file_")}
        return {name: words & reads.keys() - {name} for name, words in reads.items()}

    def _closure(self, query: str) -> set[str]:
        """All that a query reads, directly or through others."""
        found: set[str] = set()
        waiting = table_names(query) & self._reads.keys()
        while waiting:
            name = waiting.pop()
            found.add(name)
            waiting |= self._reads[name] - found
        return found

    def _make(self, name: str) -> None:
        if name in computed.READS:
            self._compute(name)
        else:
            body = self.models.get(name) or self._file(name.removeprefix("file_"))
            self._execute(f"create or replace table {name} as {body}")

    def _statement(self, name: str) -> str:
        """A table, not a view: a question may name a model several times."""
        body = self.models.get(name) or self._file(name.removeprefix("file_"))
        return f"create or replace temp table {name} as\n{body.strip()};"

    def _file(self, table: str) -> str:
        """Reads all Parquet files of one kind; no rows where there is none."""
        if table == "runs":
            return parquet_files.of_files([self.tables / "runs.parquet"])
        pattern = f"{table}/{parquet_files.PARTITIONS}/{table}.parquet"
        if next(self.tables.glob(pattern), None) is None:
            return "select null::varchar as run where false"
        return parquet_files.of_folder(self.tables, table)

    def _compute(self, name: str) -> None:
        """Makes a table in Python; all of its rows in one statement, which is much quicker."""
        self._execute(computed.definition(name).statement)
        if name not in self._computed:
            self._computed |= computed.rows(name, self._frame)
        columns = [list(column) for column in zip(*self._computed[name], strict=True)]
        if columns:
            each = ", ".join(f"unnest(${place + 1})" for place in range(len(columns)))
            self.connection.execute(f"insert into {name} select {each}", columns)

    def _literal(self, table: str) -> str:
        """A computed table as SQL text, for a script that must stand alone."""
        rows = self.select(f"select * from {table} order by all").rows()  # noqa: S608
        values = ",\n".join(f"    ({', '.join(literal(item) for item in row)})" for row in rows)
        insert = f"\ninsert into {table} values\n{values};" if rows else ""
        definition = computed.definition(table)
        return f"-- {definition.note}\n{definition.statement};{insert}"

    def _frame(self, sql: str) -> pl.DataFrame:
        """Results are small, so rows by way of Python; the Arrow way would need pyarrow."""
        import polars as pl

        self._execute(sql)
        schema = {str(name): dtype(str(kind)) for name, kind, *_ in self.connection.description}
        return pl.DataFrame(self.connection.fetchall(), schema=schema, orient="row", strict=False)

    def _execute(self, sql: str) -> None:
        try:
            self.connection.execute(sql)
        except duckdb.OutOfMemoryException:
            raise MemoryError from None
        except duckdb.Error as error:
            raise self._refused(error) from error

    def _refused(self, error: duckdb.Error) -> FlowsweepError:
        return FlowsweepError(
            f"{self.directory}: the tables cannot be queried",
            found=str(error).splitlines()[0],
            expected="the tables of the contract, as `flowsweep ingest` writes them",
            remedy="write damaged ones again: flowsweep ingest RUN_DIR --output TABLES; "
            "flowsweep runs for runs.parquet",
        )


def _state(tables: Path) -> object:
    """What differs as soon as a run's tables are written anew, or `runs`."""
    found = []
    for path in sorted(tables.iterdir()):
        with suppress(OSError):
            if not path.name.startswith("."):
                about = path.stat()
                found.append((path.name, about.st_ino, about.st_mtime_ns))
    return found
