"""What every figure of the report consists of."""

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


#: Pixels that a letter of a panel's title takes.
LETTER = 7
#: Between the parts of the name of a point.
SEPARATOR = " · "
#: Most rows of a query that a page offers for download.
MAX_DATA_ROWS = 5_000


@dataclass(frozen=True)
class Context:
    """What a figure is made from.

    Attributes:
        warehouse: Answers queries by name.
        series: Applications in the order of the experiment file.
    """

    warehouse: Warehouse
    series: Sequence[Series]
    cache: dict[str, pl.DataFrame] = field(default_factory=dict)

    def rows(self, name: str) -> pl.DataFrame:
        """Rows of a query, asked once."""
        if name not in self.cache:
            self.cache[name] = self.warehouse.rows(name)
        return self.cache[name]

    def query_figure(self, name: str, sql: str) -> pl.DataFrame:
        """Aggregates the rows of a query, `figure_rows` in `sql`, where there may be millions."""
        key = f"{name} {sql}"
        if key not in self.cache:
            self.cache[key] = self.warehouse.query_figure(name, sql)
        return self.cache[key]

    def select_runs(self, name: str, runs: Iterable[str]) -> pl.DataFrame:
        """The rows of some runs."""
        listed = ", ".join(quote(run) for run in dict.fromkeys(runs))
        return self.query_figure(name, f"from figure_rows where run in ({listed})")

    def first_rows(self, name: str) -> tuple[pl.DataFrame, int]:
        """As many rows of a query as a page carries, and the number of all."""
        rows = self.query_figure(name, f"from figure_rows limit {MAX_DATA_ROWS}")
        return rows, self.query_figure(name, "select count(*) from figure_rows").item()

    def model(self, name: str) -> pl.DataFrame:
        """Rows of a model, for what a figure draws beside its query."""
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
        """What things are called."""
        import polars as pl

        if self.stands_alone:
            return CAPTURES
        sites = self.model("hosts").group_by("run").agg(pl.col("site").n_unique())["site"]
        return BETWEEN_SITES if sites.len() and sites.min() > 1 else SWEEP  # type: ignore[operator]

    @property
    def has_sites(self) -> bool:
        """Whether traffic is shown between sites; else each host stands for one."""
        return self.model("hosts")["site"].drop_nulls().n_unique() > 1

    def drawn_runs(self, runs: Iterable[str]) -> str | None:
        """Says which runs are drawn and why: one of each application; None: each is one."""
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
        """The applications that a frame has rows of, in report order."""
        present = set(frame.select("app", "problem").iter_rows())
        return [one for one in self.series if (one.app, one.problem) in present]

    def select_series(self, frame: pl.DataFrame, one: Series) -> pl.DataFrame:
        """The rows of one application and problem."""
        import polars as pl

        return frame.filter((pl.col("app") == one.app) & (pl.col("problem") == one.problem))


@dataclass(frozen=True)
class Figure:
    """A picture, what to know about it, and the rows behind it.

    Attributes:
        caption: What is drawn, how it was computed, and what to be careful about.
        notes: The rest, which a reader opens.
        rows: Those behind the picture, or the first of them.
        heading: Where it depends on the rows; else that of the figure's .yaml.
        finding: What the numbers say, above the picture; may be empty.
        all_rows: How many there are where `rows` are the first.
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
    """A figure that only says why nothing is drawn; None if there is no reason."""
    if why is None:
        return None
    return Figure(name, why, empty("no capture is good enough for this", 760, 60), rows)


def values(rows: list[dict[str, Any]]) -> charts.Data:
    """Inline data of a chart: numbers cut to 5 significant figures, times stay exact."""
    return [{key: _shorten(value) for key, value in row.items()} for row in rows]


def _shorten(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    return value


def sentence(*parts: str | None) -> str:
    """Parts of a caption, the absent ones left out."""
    return " ".join(part for part in parts if part)


def panel_title(name: str, subtitle: str, one: Series, width: int) -> dict[str, Any]:
    """`name: said` over a panel `width` pixels wide; on two lines where one is too short."""
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
    """Whether a title of one line is no wider than a panel of `width` pixels."""
    return len(text) * LETTER <= width


def _fold(text: str, letters: int) -> list[str]:
    """The name of a point on as few lines as it needs."""
    lines = [""]
    for part in text.split(SEPARATOR):
        longer = SEPARATOR.join(filter(None, (lines[-1], part)))
        if len(longer) <= letters or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def empty(message: str, width: int, height: int) -> Any:
    """A frame with a sentence inside, where there is nothing to draw."""
    data = values([{"x": 0.5, "y": 0.5, "text": message}])
    scale = axes.scale(domain=[0, 1])
    base = charts.Chart(data).encode(
        x=charts.field("x:Q", scale=scale, axis=axes.axis(labels=False, ticks=False, title=None)),
        y=charts.field("y:Q", scale=scale, axis=None),
    )
    words = base.mark("text", color="var(--muted)", fontStyle="italic").encode(text="text:N")
    return charts.layer(words).properties(width=width, height=height)
