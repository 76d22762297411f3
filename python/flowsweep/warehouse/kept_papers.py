"""Judges the kept rows of whole experiments by the current rules.

    python -m flowsweep.warehouse.kept_papers              counts before and after, by paper
    python -m flowsweep.warehouse.kept_papers das3         each value of `das3` and its verdict

`reports/papers/measured/<experiment>` contains rows of queries from when the experiment was run;
the packets behind them are gone. `published.csv` contains the values of that time; the values in
`superseded.yaml` answer another question today and are ignored. Missing values are computed from
the other rows, where the SQL of an item can do that.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import polars as pl

from flowsweep import content
from flowsweep.experiment.load import about
from flowsweep.files import parquet_files
from flowsweep.warehouse import figures, papers, settings
from flowsweep.warehouse.macros import Macros
from flowsweep.warehouse.order import in_order, table_names
from flowsweep.warehouse.values import frame

#: Why a value is missing that no kept row contains.
NOT_YET = "it is not measured yet: the whole experiment was run before it was asked for"
#: The columns that identify a value.
KEYS = ("paper", "item", "key")
#: Verdicts that are counted, the best first.
COUNTED = ("reproduced", "same shape", "not reproduced", "not measured yet", "not here")


def folders() -> list[Path]:
    """Returns the folders of the experiments whose rows are kept."""
    return sorted(path.parent for path in _measured().glob("*/published.csv"))


def _measured() -> Path:
    return content.folder("reports") / "papers" / "measured"


def rows(folder: Path, query: str = "published") -> pl.DataFrame:
    """Returns the rows of a query about papers, as it gives them today for a whole experiment.

    Args:
        folder: reports/papers/measured/<experiment>.
        query: The name of a query that reads only models of `warehouse.papers`.
    """
    text = figures.paths(content.folder("reports"))[query].read_text(encoding="utf-8")
    return frame(_make(folder), text)


def model(folder: Path, name: str) -> pl.DataFrame:
    """Returns the rows of a model over kept rows: `<name>.sql` next to the folders."""
    return frame(_make(folder), f"select * from {name}")  # noqa: S608 - a name of a file


def _make(folder: Path) -> duckdb.DuckDBPyConnection:
    """Returns a database with the models that the kept rows of an experiment allow."""
    reports = content.folder("reports")
    experiment = content.folder("workflows") / "experiments" / f"{folder.name}.yaml"
    named = about(experiment.read_text(encoding="utf-8")).papers
    texts = papers.models_of(reports, named)
    connection = settings.connect()
    connection.execute(Macros((reports / "macros.sql").read_text(encoding="utf-8")).script)
    _load(connection, folder)
    connection.execute(f"create table paper_items as {texts['paper_items']}")
    answers = [f"{paper}_answer" for paper in named]
    paper_models = {name for name in texts if _is_of(name, named)}
    _make_items(connection, {name: texts[name] for name in paper_models.difference(answers)})
    for name in (
        "experiment_papers", "paper_values", *answers, "paper_questions", "answers_here",
    ):  # fmt: skip
        connection.execute(f"create table {name} as {texts[name]}")
    return connection


def _is_of(model: str, named: tuple[str, ...]) -> bool:
    return any(model.startswith(f"{paper}_") for paper in named)


def _load(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Loads the kept rows as tables, under the names that an item's SQL uses."""
    for path in sorted(folder.glob("*.csv")):
        name = "kept_values" if path.stem == "published" else f"figure_{path.stem}"
        place = parquet_files.quote(str(path))
        connection.execute(f"create table {name} as from read_csv({place}, sample_size = -1)")
    for paper, items in figures.read(_measured() / "superseded.yaml").items():
        for item, keys in items.items():
            connection.execute(
                "delete from kept_values where paper = $1 and item = $2 and list_contains($3, key)",
                [paper, item, keys],
            )
    # Models that replace those over packets.
    for path in sorted(_measured().glob("*.sql")):
        _try_to_make(connection, path.stem, path.read_text(encoding="utf-8"))


def _make_items(connection: duckdb.DuckDBPyConnection, texts: dict[str, str]) -> None:
    """Creates a table of values for each item; kept values replace computed ones."""
    reads = {name: {*table_names(text)} & texts.keys() - {name} for name, text in texts.items()}
    named = connection.execute("select distinct paper, item from paper_items").fetchall()
    items = {f"{paper}_{papers.stem_of(item)}": (paper, item) for paper, item in named}
    for name in in_order(reads):
        if not _try_to_make(connection, name, texts[name]):
            connection.execute(f"create table {name} (key varchar, ours double)")
        if name in items:
            _fill(connection, name, items[name])


def _fill(connection: duckdb.DuckDBPyConnection, name: str, item: tuple[str, str]) -> None:
    """Replaces computed values by the kept ones, and explains missing values."""
    kept = "from kept_values where paper = $1 and item = $2"
    valued = f"{kept} and ours is not null"
    remove = f"delete from {name} where ours is null or key in (select key {valued})"  # noqa: S608
    insert = f"insert into {name} select key, ours::double {valued}"
    # A key that was kept without a value was asked for, but the experiment did not have it.
    explain = (
        f"update paper_items set absent = '{NOT_YET}' where paper = $1 and item = $2 "  # noqa: S608
        f"and key not in (select key from {name} union all select key {kept})"
    )
    for script in (remove, insert, explain):
        connection.execute(script, list(item))


def _try_to_make(connection: duckdb.DuckDBPyConnection, name: str, sql: str) -> bool:
    """Creates a table; returns false if the query reads a table that was not kept."""
    try:
        connection.execute(f"create table {name} as {sql}")
    except duckdb.CatalogException:
        return False
    return True


def kind(verdict: str) -> str:
    """Returns the verdict without its reason; `aside` if the value is not judged."""
    if NOT_YET in verdict:
        return "not measured yet"
    return next((one for one in COUNTED if verdict.startswith(one)), "aside")


def counts() -> pl.DataFrame:
    """Returns old and new verdicts by paper; of a value in two files, the better verdict.

    A value that is not judged today has no old verdict, and is `aside` in the new ones.
    """
    then = pl.concat([_read(folder) for folder in folders()])
    every = pl.concat([rows(folder).select(*KEYS, "verdict", "rule") for folder in folders()])
    # For a missing value, the verdict says that first.
    is_aside = pl.col("rule").str.starts_with("not judged").fill_null(False)
    now = every.with_columns(verdict=pl.when(is_aside).then(pl.lit("aside")).otherwise("verdict"))
    now = now.drop("rule")
    aside = now.filter(pl.col("verdict") == "aside")
    before, after = (which.join(aside, on=KEYS, how="anti") for which in (then, now))
    return pl.concat(
        _best(which).with_columns(pl.lit(when).alias("when"))
        for when, which in (("before", before), ("after", pl.concat([after, aside])))
    )


def _read(folder: Path) -> pl.DataFrame:
    return pl.read_csv(folder / "published.csv").select(*KEYS, "verdict")


def _best(which: pl.DataFrame) -> pl.DataFrame:
    """Returns the number of values by paper and kind of verdict."""
    order = [*COUNTED, "aside"]
    return (
        which.with_columns(kind=pl.col("verdict").map_elements(kind, pl.String))
        .with_columns(pl.col("kind").cast(pl.Enum(order)))
        .group_by(KEYS)
        .agg(pl.col("kind").min())
        .group_by("paper", "kind")
        .len()
        .sort("paper", "kind")
    )


def table() -> str:
    """Returns the counts as a Markdown table."""
    found = {
        (row["paper"], row["when"], row["kind"]): row["len"]
        for row in counts().iter_rows(named=True)
    }
    named = sorted({paper for paper, _, _ in found})
    lines = [
        "| paper | judged | " + " | ".join(COUNTED) + " | not judged |",
        "|---|---|" + "---|" * len(COUNTED) + "---|",
    ]

    def line(name: str, chosen: list[str]) -> str:
        def pair(kinds: tuple[str, ...]) -> str:
            before, after = (
                sum(found.get((paper, when, one), 0) for paper in chosen for one in kinds)
                for when in ("before", "after")
            )
            return f"{before} → {after}"

        aside = sum(found.get((paper, "after", "aside"), 0) for paper in chosen)
        cells = [pair(COUNTED), *(pair((one,)) for one in COUNTED), str(aside)]
        return f"| {name} | " + " | ".join(cells) + " |"

    return "\n".join([*lines, *(line(paper, [paper]) for paper in named), line("all", named)])


def main(names: list[str]) -> None:
    """Prints the counts, or the rows of the named experiments."""
    if not names:
        print(table())
    for folder in (one for one in folders() if one.name in names):
        print(rows(folder).write_csv())


if __name__ == "__main__":
    main(sys.argv[1:])
