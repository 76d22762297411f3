"""Lists the questions in reports/, what each of them reads, and in which order.

Each `figures/<name>.sql` is a question, and each `papers/<paper>/figures/<name>.sql` a question of
one paper. Questions read `models/*.sql` and `facts/*.sql`, which may read each other; `macros.sql`
contains the shared formulas.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection
from functools import cached_property
from itertools import chain
from pathlib import Path

from flowsweep import content
from flowsweep.errors import FlowsweepError
from flowsweep.files import layout
from flowsweep.warehouse import (
    axis_models,
    computed,
    figures,
    papers,
    shown,
    signatures,
    stated_needs,
)
from flowsweep.warehouse.macros import Macros
from flowsweep.warehouse.order import in_order, table_names


def reports_folder() -> Path:
    """Returns the folder with the SQL of the figures."""
    return content.folder("reports")


def figure_names(folder: Path | None = None) -> list[str]:
    """Returns the names that `flowsweep query` knows, sorted."""
    return [*figures.paths(folder or reports_folder())]


class Catalog:
    """The SQL of every question about the tables of an experiment.

    Args:
        tables: results/<experiment>/tables; its tables of Zeek logs are questions too.
    """

    def __init__(self, tables: Path) -> None:
        self.folder = reports_folder()
        self._folder_of_tables = tables
        self.facts = _texts(self.folder / "facts")
        models = axis_models.models() | _texts(self.folder / "models")
        self.models = models | self.facts | shown.models(models)
        #: Models that only the query `published` reads.
        self.paper_models = papers.models(self.folder, tables.parent)
        self.models |= self.paper_models
        file_models = stated_needs.models(tables.parent)
        self.models |= file_models
        #: Inputs that no digest of the tables covers.
        self._file_models = frozenset(file_models)
        self._macros = Macros((self.folder / "macros.sql").read_text(encoding="utf-8"))
        self.preamble = self._macros.script

    @cached_property
    def tables(self) -> frozenset[str]:
        """Names of the tables that some run has."""
        return frozenset(
            file.name.removesuffix(layout.SUFFIX)
            for run in layout.run_folders(self._folder_of_tables)
            for _, file in layout.files_of(run)
            if not file.name.startswith(".")
        )

    @property
    def zeek_tables(self) -> list[str]:
        """Names of the tables of Zeek's logs, such as zeek_conn, sorted."""
        return sorted(name for name in self.tables if re.fullmatch("zeek_[a-z0-9_]+", name))

    @cached_property
    def _names(self) -> list[str]:
        return figure_names(self.folder)

    def sql(self, name: str) -> str:
        """Returns the SQL of a question; for a Zeek table, a query of all its rows."""
        zeek = self.zeek_tables
        if name in zeek:
            return f"select * from {name} order by all\n"  # noqa: S608 - a name that is there
        known = [*self._names, *zeek]
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            raise FlowsweepError(
                f'no query is called "{name}"',
                expected="one of those that `flowsweep query --help` lists",
                remedy=f"did you mean {near[0]}?" if near else None,
            )
        return figures.paths(self.folder)[name].read_text(encoding="utf-8")

    def reads_tables_alone(self, name: str) -> bool:
        """Returns whether a query depends only on the tables of its experiment."""
        read = self.closure(self.sql(name))
        return not read & {*self.paper_models, *self._file_models, "against_points"}

    def needs(self, name: str) -> list[dict[str, str]]:
        """Returns the needs of a query, as needs.yaml describes them."""
        known = figures.read(self.folder / "needs.yaml")
        return [known[key] for key in figures.read_description(self.folder, name).get("needs", ())]

    def claims(self, name: str) -> list[tuple[str, str]]:
        """Returns the claims about a query's rows, each text and SQL; see analysis.adds_up."""
        described = figures.read_description(self.folder, name).get("adds_up", ())
        return [(one["claim"], one["sql"]) for one in described]

    @cached_property
    def digests(self) -> dict[str, str]:
        """A digest of each fact: its SQL, all that it reads, and the macros used there."""
        found = {}
        for name, text in self.facts.items():
            read = sorted(self.closure(text))
            texts = [self.models.get(one) or computed.source(one) for one in read]
            macros = self._macros.used([text, *texts])
            found[name] = signatures.digest("\n".join([*macros.values(), text, *read, *texts]))
        return found

    @cached_property
    def order(self) -> list[str]:
        """All that a query may read, each after everything that it reads itself."""
        return in_order(self._list_reads)

    @cached_property
    def _list_reads(self) -> dict[str, set[str]]:
        """The tables that each file view, model and estimate reads."""
        reads: dict[str, set[str]] = {table: set() for table in self.zeek_tables}
        reads |= computed.READS
        reads |= {name: {*table_names(text)} for name, text in self.models.items()}
        # In a model, file_x means the files x.parquet of all runs, whichever program wrote them.
        names = set().union(*reads.values())
        reads |= {name: set() for name in names if name.startswith("file_")}
        reads |= {name: {"shown_runs"} for name in names if name.startswith(shown.FILES)}
        return {name: words & reads.keys() - {name} for name, words in reads.items()}

    @cached_property
    def read_once(self) -> frozenset[str]:
        """Files that only one model reads: a copy of their rows would gain nothing."""
        readers = Counter(chain.from_iterable(self._list_reads.values()))
        files = ("file_", shown.FILES)
        return frozenset(name for name in readers if name.startswith(files) and readers[name] == 1)

    def closure(self, query: str, ends: Collection[str] = ()) -> set[str]:
        """Returns all that a query reads, also indirectly; `ends` are not followed further."""
        found: set[str] = set()
        waiting = {*table_names(query)} & self._list_reads.keys()
        while waiting:
            name = waiting.pop()
            found.add(name)
            if name not in ends:
                waiting |= self._list_reads[name] - found
        return found


def _texts(folder: Path) -> dict[str, str]:
    """Returns the SQL of each file in a folder, by the file's name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.sql"))}
