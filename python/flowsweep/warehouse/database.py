"""Computes the rows behind each figure from the tables of one experiment, with DuckDB.

Each question is a file in reports/ (`catalog`). Models become tables, each after those that it
reads. Results of Python (`computed`) are inserted as tables, so that a question can name them like
models.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from flowsweep.errors import find_system_error
from flowsweep.files import file_sets, layout, names, parquet_files
from flowsweep.warehouse import answers, computed, refusals, settings, shown, signatures
from flowsweep.warehouse.catalog import Catalog
from flowsweep.warehouse.facts import Kept
from flowsweep.warehouse.values import frame

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.errors import FlowsweepError
    from flowsweep.warehouse.signatures import Inputs

#: More rows than this are fetched from DuckDB as Arrow.
MANY_ROWS = 50_000
#: Tables below this size are read by one thread: on hundreds of small queries several threads cost
#: more than they gain. Measured: the demo (6.4 MB) takes 15 % less CPU and no more time; 300 runs
#: of 32 MB take a third longer. A second question about such tables computes all of their facts.
SMALL_BYTES = 16 << 20
#: Rows per row group in a Parquet file with list columns.
LIST_ROWS = 2_048


class Warehouse:
    """The tables of one experiment, and the questions that can be asked of them.

    Args:
        directory: results/<experiment>, which contains tables/.
        only: The runs to read, with the names of their folders; None for all. With a selection,
            no facts are kept.
        against: results/<experiment> of another experiment to compare the points with.
        is_anew: Whether to ignore the rows that an earlier report left.
    """

    def __init__(
        self,
        directory: Path,
        only: Mapping[str, set[str]] | None = None,
        against: Path | None = None,
        *,
        is_anew: bool = False,
    ) -> None:
        self.directory = directory
        self.tables = directory / "tables"
        refusals.check_folder(directory)
        layout.bring_up_to_date(self.tables)
        self._only = only
        self._other = None if against is None else Warehouse(against)
        self._compared: computed.Other | None = None
        self._is_anew = is_anew or only is not None or against is not None
        self._is_reading = False
        self._connect()
        self._kept = Kept(directory, self.catalog.digests, self._write_facts, self._copy)

    def _connect(self) -> None:
        """Opens a new connection, in which no table exists yet."""
        self._state = signatures.state(self.tables)
        self.catalog = Catalog(self.tables)
        self.connection = settings.connect()
        self._is_small = signatures.are_smaller_than(self.tables, SMALL_BYTES)
        if self._is_small:
            self.connection.execute("set threads = 1")
        self.connection.execute(self.catalog.preamble)
        self._made: set[str] = set()
        self._computed: dict[str, computed.Rows] = {}
        self._views: dict[str, str] | None = None
        self._needed: set[str] = set()
        self._answers: Collection[str] | None = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Locks the tables against writers in the block: all answers come from the same tables.

        Rows of tables that have changed since the last block are discarded.

        Raises:
            FlowsweepError: The tables changed nevertheless: over a network file system, other
                machines do not see this machine's locks.
        """
        if self._is_reading:
            yield
            return
        with file_sets.reading(self.tables), ExitStack() as self._stack:
            state = signatures.state(self.tables)
            if state != self._state:
                self._compared = None
                if self._made or self._answers is not None:
                    self._connect()
                else:  # a new connection costs more than a query
                    self.catalog = Catalog(self.tables)
                self._state = state
            self._is_reading, self._needed = True, set()
            try:
                yield
            finally:
                self._is_reading = False
            if signatures.state(self.tables) != state:
                raise refusals.replaced(self.tables)

    def rows(self, name: str) -> pl.DataFrame:
        """Returns the rows behind the figure `name`; unchanged tables are queried once."""
        with self.reading():
            table = self.answer(name)
            self._execute(f"select count(*) > {MANY_ROWS} from {table}")  # noqa: S608
            ((are_many,),) = self.connection.fetchall()
            return self._frame(f"select * from {table}", are_many)  # noqa: S608

    def answer(self, name: str) -> str:
        """Creates a table with the rows of a query, and returns the table's name."""
        query, table = self.catalog.sql(name), f"rows_of_{name}"
        if table not in self._made:
            if self._is_kept(name):
                self._execute(f"create or replace temp view {table} as from kept.main.{name}")
            else:
                self.prepare(query)
                self._execute(f"create or replace temp table {table} as {query}")
            self._made.add(table)
        return table

    def _is_kept(self, name: str) -> bool:
        """Returns whether an earlier report left the rows of a query and they are still valid."""
        if self._is_anew or not self.catalog.reads_tables_alone(name):
            return False
        if self._answers is None:
            path = answers.path_of(self.directory)
            self._answers = answers.attach(self.connection, path, self.mark)
        return name in self._answers

    def mark(self) -> str:
        """Returns the mark of a database with rows of these tables; valid in `reading` only."""
        return answers.mark(self._fingerprint_tables(self._inputs))

    def _inputs(self) -> signatures.Inputs:
        return signatures.read_inputs(self.tables, self.connection)

    def _fingerprint_tables(self, inputs: Callable[[], signatures.Inputs]) -> str:
        """Returns a text that differs whenever the tables differ."""
        are_many = signatures.runs_with_tables(self.tables) > signatures.SMALL_SWEEP
        return signatures.digest(repr(self._state if are_many else inputs().signatures))

    def query_figure(self, name: str, sql: str) -> pl.DataFrame:
        """Returns the rows of a query that reads the figure `name` as `figure_rows`."""
        with self.reading():
            self.keep_rows(name)
            return self._frame(sql)

    def select(self, sql: str) -> pl.DataFrame:
        """Returns the rows of any query over the models.

        The models that it reads become tables first, each once: a figure's query names the
        same model several times, and many figures share a model.
        """
        with self.reading():
            self.prepare(sql)
            return self._frame(sql)

    def prepare(self, sql: str) -> None:
        """Creates all tables that a query reads."""
        self._read_other()
        if self._only is None:
            self._keep(self.catalog.closure(sql, self.catalog.facts) & self.catalog.facts.keys())
        wanted = self.catalog.closure(sql, self._views or ())
        for name in self.catalog.order:
            if name in wanted - self._made:
                self._made.add(name)
                self._make(name)

    def _read_other(self) -> None:
        """Reads the other experiment before this one's facts are locked.

        Writing the other's facts waits for every reader of facts in its folder. That reader may be
        this process, or one that waits for this process in the same way.
        """
        if self._other is not None and self._compared is None:
            name = self._other.directory.absolute().name
            self._compared = computed.Other(name, computed.read_side(self._other.select))

    def keep_facts(self) -> None:
        """Computes the missing facts of all runs, which is quicker at once than one by one."""
        with self.reading():
            self._read_other()
            self._keep(self.catalog.facts.keys())

    def _keep(self, needed: Collection[str]) -> None:
        """Stores the needed facts and locks them for reading, if they can be stored."""
        if self._needed >= {*needed}:
            return
        if self._is_small and self._made:
            # One by one, each fact would recompute everything that it reads.
            needed = self.catalog.facts.keys()
        self._needed |= {*needed}
        wanted = functools.cache(self._inputs)
        state = self._fingerprint_tables(wanted)
        self._stack.close()
        views: dict[str, str] | None = None
        if self._stack.enter_context(self._kept.reading(self._needed, state, wanted)):
            queries = {name: self._kept.query(name) for name in self._needed}
            views = {name: query for name, query in queries.items() if query is not None}
        if self._made and (views is None) != (self._views is None):
            names = self._needed
            self._connect()
            self._needed = names
        before, now = self._views or {}, views or {}
        if changed := {name for name, query in now.items() if before.get(name) != query}:
            self._made -= changed | {name for name in self._made if name.startswith("rows_of_")}
        self._views = views

    def _write_facts(
        self, facts: Sequence[str], runs: Inputs, place: Callable[[str], Path]
    ) -> None:
        """Aggregates some runs."""
        some = Warehouse(self.directory, {run: runs.folders[run] for run in runs.signatures})
        with some.reading():
            for fact in facts:
                # The fact becomes a table, because other facts read it too.
                rows = f"select * from {fact}"  # noqa: S608 - a name of a file
                some.prepare(rows)
                some._copy(rows, place(fact))
            # Frees the memory now, not when Python collects the connection.
            some.connection.close()

    def _copy(self, query: str, path: Path) -> None:
        """Writes the rows of a query as one of flowsweep's tables."""
        # Parquet has no integers of 128 bits: DuckDB would write doubles.
        self._execute(f"describe {query}")
        types = {row[0]: row[1] for row in self.connection.fetchall()}
        wide = [name for name, kind in types.items() if kind == "HUGEINT"]
        # DuckDB buffers a whole row group while it writes, and lists make it large.
        has_lists = any(kind.endswith("[]") for kind in types.values())
        groups = f", row_group_size {LIST_ROWS}" if has_lists else ""
        narrow = ", ".join(f'"{name}"::bigint as "{name}"' for name in wide)
        chosen = f"* replace ({narrow})" if wide else "*"
        rows = query.strip().rstrip(";")
        query = f"select {chosen} from ({rows}\n)"  # noqa: S608 - a query of reports/
        self._execute(parquet_files.copy(query, path, path.parent.name, groups))

    def lack(self, name: str) -> str | None:
        """Returns why the query `name` has no rows here and what it needs; None if unknown.

        This is its first need that the experiment does not meet, in the words of needs.yaml.
        """
        need = self._unmet(name)
        return f"{need['lacks']}; needed: {need['wants']}" if need else None

    def lacks(self, name: str) -> str | None:
        """Returns the first half of `lack`: what is missing."""
        need = self._unmet(name)
        return need["lacks"] if need else None

    def _unmet(self, name: str) -> dict[str, str] | None:
        """Returns a query's first need that the experiment does not meet."""
        for need in self.catalog.needs(name):
            if not self.select(need["ask"]).item():
                return need
        return None

    def keep_rows(self, name: str) -> None:
        """Creates the view `figure_rows` of a query's rows, which its claims read."""
        with self.reading():
            rows = f"select * from {self.answer(name)}"  # noqa: S608
            self._execute(f"create or replace temp view figure_rows as {rows}")

    def _make(self, name: str) -> None:
        if name in computed.READS:
            self._compute(name)
        elif self._views and name in self._views:
            self._execute(f"create or replace view {name} as {self._views[name]}")
        else:
            kind = "view" if name in self.catalog.read_once else "table"
            self._execute(f"create or replace {kind} {name} as {self.body(name)}")

    def body(self, name: str) -> str:
        """Returns the query that computes a model or reads files."""
        if name in self.catalog.models:
            return self.catalog.models[name]
        if name.startswith(shown.FILES):
            runs = self.select("select run from shown_runs order by run")["run"]
            # Other programs may write a name without encoding it.
            folders = {name for run in runs for name in (names.partition("run", run), f"run={run}")}
            table = name.removeprefix(shown.FILES)
            return parquet_files.query_folders(self.tables, table, folders)
        return self._file(name.removeprefix("file_"))

    def _file(self, table: str) -> str:
        """Returns a query over all Parquet files of one table; it has no rows if there is none."""
        if table == "runs":
            every_run = parquet_files.query_files([self.tables / "runs.parquet"])
            if self._only is None:
                return every_run
            runs = ", ".join(map(parquet_files.quote, self._only))
            return f"{every_run} where run in ({runs})"
        if self._only is not None:
            folders = set().union(*self._only.values())
            return parquet_files.query_folders(self.tables, table, folders)
        if table not in self.catalog.tables:
            return parquet_files.NOTHING
        return parquet_files.query_folder(self.tables, table)

    def _compute(self, name: str) -> None:
        """Computes a table in Python; one statement inserts all rows, which is much quicker."""
        self._execute(computed.definition(name).statement)
        if name not in self._computed:
            self._computed |= computed.rows(name, self._frame, self._compared)
        columns = [list(column) for column in zip(*self._computed[name], strict=True)]
        if columns:
            each = ", ".join(f"unnest(${place + 1})" for place in range(len(columns)))
            self.connection.execute(f"insert into {name} select {each}", columns)

    def _frame(self, sql: str, are_many: bool = False) -> pl.DataFrame:
        """Returns the rows of a query over tables that exist already."""
        with self._own_errors():
            return frame(self.connection, sql, are_many)

    def _execute(self, sql: str) -> None:
        with self._own_errors():
            self.connection.execute(sql)

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Turns errors of DuckDB into errors of flowsweep."""
        try:
            yield
        except duckdb.OutOfMemoryException:
            raise MemoryError from None
        except duckdb.Error as error:
            raise self._refused(error) from error

    def _refused(self, error: duckdb.Error) -> FlowsweepError:
        if (number := find_system_error(str(error))) is not None:
            return refusals.unreachable(self.directory, error, number)
        if damaged := self._kept.remove_damaged(settings.connect()):
            return refusals.damaged(damaged[0], error)
        return refusals.unreadable(self.directory, error)
