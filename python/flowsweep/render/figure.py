"""The parts that every figure of the report has."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flowsweep.files.parquet_files import quote
from flowsweep.render import axes, charts
from flowsweep.render.terms import BETWEEN_SITES, CAPTURES, SWEEP

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from flowsweep.render.terms import Terms
    from flowsweep.render.theme import Series
    from flowsweep.warehouse import Warehouse


#: Width of a letter in a panel's title, pixels.
LETTER = 7
#: Separates the parts of a point's name.
SEPARATOR = " · "
#: The most rows of a query that a page offers for download.
MAX_DATA_ROWS = 5_000


@dataclass(frozen=True)
class Context:
    """The data that a figure is made from.

    Attributes:
        warehouse: Answers queries by name.
        series: Applications in the order of the experiment file.
    """

    warehouse: Warehouse
    series: Sequence[Series]
    cache: dict[str, pl.DataFrame] = field(default_factory=dict)

    def rows(self, name: str) -> pl.DataFrame:
        """Returns the rows of a query, which runs once."""
        if name not in self.cache:
            self.cache[name] = self.warehouse.rows(name)
        return self.cache[name]

    def query_figure(self, name: str, sql: str) -> pl.DataFrame:
        """Aggregates the rows of a query, `figure_rows` in `sql`, as there may be millions."""
        key = f"{name} {sql}"
        if key not in self.cache:
            self.cache[key] = self.warehouse.query_figure(name, sql)
        return self.cache[key]

    def select_runs(self, name: str, runs: Iterable[str]) -> pl.DataFrame:
        """Selects the rows of some runs."""
        listed = ", ".join(quote(run) for run in dict.fromkeys(runs))
        return self.query_figure(name, f"from figure_rows where run in ({listed})")

    def first_rows(self, name: str) -> tuple[pl.DataFrame, int]:
        """Returns as many rows of a query as a page carries, and the number of all rows."""
        rows = self.query_figure(name, f"from figure_rows limit {MAX_DATA_ROWS}")
        return rows, self.query_figure(name, "select count(*) from figure_rows").item()

    def model(self, name: str) -> pl.DataFrame:
        """Returns the rows of a model, for what a figure draws besides its query."""
        key = f"model {name}"
        if key not in self.cache:
            self.cache[key] = self.warehouse.select(f"select * from {name} order by all")  # noqa: S608
        return self.cache[key]

    @cached_property
    def stands_alone(self) -> bool:
        """Whether these are captures alone: each run is shown by itself, under its name."""
        return bool(self.model("runs")["stands_alone"].any())

    @cached_property
    def terms(self) -> Terms:
        """The words that this report uses."""
        import polars as pl

        if self.stands_alone:
            return CAPTURES
        sites = self.model("hosts").group_by("run").agg(pl.col("site").n_unique())["site"]
        return BETWEEN_SITES if sites.len() and sites.min() > 1 else SWEEP  # type: ignore[operator]

    @property
    def has_sites(self) -> bool:
        """Whether traffic is shown between sites; if not, each host is treated as a site."""
        return self.model("hosts")["site"].drop_nulls().n_unique() > 1

    def drawn_runs(self, runs: Iterable[str]) -> str | None:
        """States which runs are drawn and why: one of each application; None for captures alone."""
        if self.stands_alone:
            return None
        known = dict(self.model("shown_runs").select("run", "because").iter_rows())
        why: dict[str, list[str]] = {}
        for run in sorted(set(runs)):
            reason = known.get(run, "the first that has such traffic")
            why.setdefault(reason, []).append(run)
        is_one = sum(map(len, why.values())) == 1
        text = "; ".join(f"{reason}: {', '.join(names)}" for reason, names in why.items())
        return f"{'The run shown is' if is_one else 'One run each,'} {text}."

    def series_in(self, frame: pl.DataFrame) -> list[Series]:
        """Returns the applications that a frame has rows of, in report order."""
        present = set(frame.select("app", "problem").iter_rows())
        return [one for one in self.series if (one.app, one.problem) in present]

    def select_series(self, frame: pl.DataFrame, one: Series) -> pl.DataFrame:
        """Selects the rows of one application and problem."""
        import polars as pl

        return frame.filter((pl.col("app") == one.app) & (pl.col("problem") == one.problem))


@dataclass(frozen=True)
class Figure:
    """A picture, what to know about it, and the rows behind it.

    Attributes:
        caption: What is drawn, how it was computed, and what to be careful about.
        notes: The rest, which a reader can unfold.
        rows: The rows behind the picture, or the first of them.
        heading: The heading if it depends on the rows; else that of the figure's .yaml applies.
        finding: What the numbers show, printed above the picture; may be empty.
        all_rows: The number of all rows, if `rows` has only the first.
    """

    name: str
    caption: str
    chart: Any
    rows: pl.DataFrame
    finding: str = ""
    heading: str = ""
    notes: str = ""
    all_rows: int | None = None

    @property
    def words(self) -> str:
        """Caption and notes."""
        return sentence(self.caption, self.notes)

    @property
    def count(self) -> int:
        """The number of rows behind the picture."""
        return self.rows.height if self.all_rows is None else self.all_rows


def refused(name: str, rows: pl.DataFrame, why: str | None) -> Figure | None:
    """Returns a figure that only says why nothing is drawn; None if there is no reason."""
    if why is None:
        return None
    return Figure(name, why, empty("no capture is good enough for this", 760, 60), rows)


def values(rows: list[dict[str, Any]]) -> charts.Data:
    """Returns inline data of a chart: floats rounded to 5 significant figures, all else exact."""
    return [{key: _shorten(value) for key, value in row.items()} for row in rows]


def _shorten(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    return value


def sentence(*parts: str | None) -> str:
    """Joins the parts of a caption, leaving out absent ones."""
    return " ".join(part for part in parts if part)


def panel_title(name: str, subtitle: str, one: Series, width: int) -> dict[str, Any]:
    """Returns `name: subtitle` for a panel `width` pixels wide, on several lines if needed."""
    line = ": ".join(text for text in (name, subtitle) if text)
    return charts.title(
        line
        if fits(line, width)
        else [name, subtitle]
        if name
        else _fold(subtitle, (width + 20) // LETTER),
        fontSize=12,
        fontWeight=600,
        color=one.text_colour,
        frame="group",
        limit=width + 20,
    )


def fits(text: str, width: int) -> bool:
    """Returns whether a title of one line fits a panel of `width` pixels."""
    return len(text) * LETTER <= width


def _fold(text: str, letters: int) -> list[str]:
    """Folds the name of a point into as few lines as it needs."""
    lines = [""]
    for part in text.split(SEPARATOR):
        longer = SEPARATOR.join(filter(None, (lines[-1], part)))
        if len(longer) <= letters or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def empty(message: str, width: int, height: int) -> Any:
    """Returns a frame with a sentence inside, for a figure with nothing to draw."""
    data = values([{"x": 0.5, "y": 0.5, "text": message}])
    scale = axes.scale(domain=[0, 1])
    base = charts.Chart(data).encode(
        x=charts.field("x:Q", scale=scale, axis=axes.axis(labels=False, ticks=False, title=None)),
        y=charts.field("y:Q", scale=scale, axis=None),
    )
    words = base.mark("text", color="var(--muted)", fontStyle="italic").encode(text="text:N")
    return charts.layer(words).properties(width=width, height=height)
