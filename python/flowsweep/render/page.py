"""Builds report.html from figures and tables: one file that needs nothing else.

Same input, same bytes: no clock, no random ids, everything in a given order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flowsweep.analysis import adds_up
from flowsweep.errors import FlowsweepError
from flowsweep.experiment.load import about
from flowsweep.files import inputs
from flowsweep.files.outputs import explaining, write_file
from flowsweep.files.owned import refuse_foreign_database, refuse_foreign_report
from flowsweep.lists import natural_key
from flowsweep.render import (
    differences,
    drawing,
    exported,
    head,
    inline,
    markup,
    svg,
    tables,
    templates,
    theme,
    verdict_captures,
)
from flowsweep.render import verdict as words
from flowsweep.render.exported import Drawn
from flowsweep.render.figure import MAX_DATA_ROWS, Context, Figure, empty
from flowsweep.render.provenance import provenance
from flowsweep.render.sections import Part, Section, sections
from flowsweep.render.theme import Series
from flowsweep.warehouse import Warehouse, answers, database_file, figure_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl
    from markupsafe import Markup

    from flowsweep.analysis.adds_up import Contradiction

MAX_DATA_BYTES = 250_000
MAX_TABLE_ROWS = 50
MAX_LABEL = 40
BUDGET_BYTES = 8_000_000
#: Selects captures alone in the order of the page.
ALONE = """
select
    runs.app,
    runs.problem,
from runs
left join captures using (run)
where runs.stands_alone
group by runs.app, runs.problem
order by
    coalesce(bool_or(not captures.has_traffic), false),
    coalesce(sum(captures.wire_bytes), 0) desc,
    runs.app
"""


@dataclass(frozen=True)
class Page:
    """A report.

    Attributes:
        html: The whole page.
        first: The verdict's first sentence, without markup.
        contradictions: What does not add up in it; the page begins with them.
        figures: Its figures, in order.
    """

    html: str
    first: str
    contradictions: Sequence[Contradiction]
    figures: Sequence[Drawn] = ()


def write(directory: Path, against: Path | None = None) -> tuple[Path, Page]:
    """Writes DIR/report.html and DIR/DIR.duckdb, each whole or not at all.

    Returns the path of the report, and the page.

    Args:
        directory: results/<experiment>.
        against: results/<other> of an experiment to compare it with.
    """
    path = directory / "report.html"
    refuse_foreign_report(path)
    database = answers.path_of(directory)
    refuse_foreign_database(database)
    warehouse = Warehouse(directory, against=against, is_anew=True)
    with warehouse.reading():
        made = _build(warehouse)
        with explaining(f"cannot write {database}"):
            database_file.write(warehouse)
        with explaining(f"cannot write {path}"):
            write_file(path, made.html)
    return path, made


def build(directory: Path, against: Path | None = None) -> Page:
    """Builds the page of results/<experiment>."""
    warehouse = Warehouse(directory, against=against, is_anew=True)
    with warehouse.reading():
        return _build(warehouse)


def _build(warehouse: Warehouse) -> Page:
    svg.check_room()
    # The renderer loads while facts are computed.
    drawing.ensure_drawer()
    warehouse.keep_facts()
    directory = warehouse.directory
    experiment = directory / "experiment.yaml"
    source = inputs.read_text(experiment, "an experiment file") if experiment.exists() else ""
    described = about(source)
    context = Context(warehouse, _series(warehouse, described.workloads))
    verdict = _verdict(context)
    compared = differences.first(markup.shield_rows(context.rows("against").rows(named=True)))
    counter = iter(range(1, 1000))
    filled: list[dict[str, Any]] = []
    absent = []
    for section in sections(warehouse.catalog.folder):
        if section.is_left_out(context):
            continue
        parts = _parts(section, context, counter)
        if parts:
            heading = section.heading_of(context)
            filled.append({"anchor": section.anchor, "heading": heading, "parts": parts})
        elif not section.is_asked and not (context.stands_alone and section.alone):
            absent.append(section.absent(context))
    contradictions = adds_up.contradictions(warehouse, figure_names(warehouse.catalog.folder))
    folder = warehouse.catalog.folder
    style, script = inline.styles(folder), inline.script(folder)
    text = templates.fill(
        folder,
        "page.html.j2",
        head=head.describe(context, directory, source, described.title),
        verdict=[
            markup.to_html(sentence)
            for sentence in [*verdict.sentences, *([compared] if compared else [])]
        ],
        unknown=[markup.restore(clause) for clause in verdict.unknown],
        assumed=[markup.restore(clause) for clause in verdict.assumed],
        contradictions=[str(one) for one in contradictions],
        sections=filled,
        absent=absent,
        provenance=provenance(context, directory, source),
        policy=inline.policy(style, script),
        style=style,
        script=script,
    )
    html = inline.printable(text)
    size = len(html.encode())
    if size > BUDGET_BYTES:
        largest = max(
            (part for section in filled for part in section["parts"]),
            key=lambda part: len(str(part)),
        )
        raise FlowsweepError(
            f"{directory}: the report would be larger than its budget",
            found=f"{size:,} bytes; the largest part is {largest['name']}",
            expected=f"at most {BUDGET_BYTES:,} bytes",
        )
    return Page(html, verdict.first, contradictions, _figures(filled))


def _figures(filled: list[dict[str, Any]]) -> list[Drawn]:
    parts = [part for section in filled for part in section["parts"] if part["kind"] == "figure"]
    return [
        Drawn(
            part["name"],
            exported.title(part["number"], part["heading"], f"{part['caption']} {part['notes']}"),
            str(part["svg"]),
        )
        for part in parts
    ]


def _verdict(context: Context) -> words.Verdict:
    """Makes the sentences that open the page."""
    shield = markup.shield

    def rows(query: str) -> list[dict[str, Any]]:
        return markup.shield_rows(context.rows(query).rows(named=True))

    if context.stands_alone:
        return verdict_captures.verdict(
            rows("requirement"),
            rows("totals"),
            [shield(one.app) for one in context.series],
            markup.shield_rows(context.model("captures").rows(named=True)),
        )
    return words.verdict(
        rows("thresholds"),
        rows("requirement"),
        {(shield(one.app), shield(one.problem)): shield(one.label) for one in context.series},
        rows("run_table"),
        beside=rows("side_by_side"),
        others=rows("axis_thresholds"),
        needs=rows("need"),
        times=rows("time_shares"),
        lightpaths=rows("lightpaths"),
        has_sites=context.has_sites,
    )


def _parts(section: Section, context: Context, counter: Any) -> list[dict[str, Any]]:
    """Draws the parts of a section, in order; those with nothing to draw are left out."""
    parts = []
    for part in section.parts:
        drawn = part.draw(context)
        if isinstance(drawn, Figure):
            parts.append(_figure_part(context, part, drawn, next(counter)))
        elif drawn:
            parts.append(_table_part(context, part, drawn))
    return parts


def _table_part(context: Context, part: Part, html: Markup) -> dict[str, Any]:
    rows = context.rows(part.name)
    caption = (_fill(part.caption_of(context), context), part.note(context))
    return {
        "kind": "table",
        "name": part.name,
        "heading": part.heading_of(context),
        "caption": " ".join(words for words in caption if words),
        "notes": _fill(part.notes_of(context), context),
        "html": html,
        "rows": len(rows),
        "csv": _csv(rows, rows.height),
        "sql": context.warehouse.catalog.sql(part.name),
        "size": html.count("<tr"),
        "fine": html.count('<tr class="is-fine">'),
    }


class _Picture:
    """The picture of a figure, which is drawn while the next queries run.

    Words replace it if part of it could not be drawn.
    """

    def __init__(self, figure: Figure) -> None:
        self._name = figure.name
        self._wait = svg.begin(figure.chart, figure.name)

    @cached_property
    def _drawn(self) -> Markup:
        drawn = self._wait()
        if not svg.is_broken(drawn):
            return drawn
        words = "not drawn: a value has no place on its axis; the rows are below"
        return svg.render(empty(words, theme.FULL_WIDTH, 120), self._name)

    def __html__(self) -> str:
        return self._drawn

    def __str__(self) -> str:
        return self._drawn


def _figure_part(context: Context, part: Part, figure: Figure, number: int) -> dict[str, Any]:
    return {
        "kind": "figure",
        "name": figure.name,
        "number": number,
        "heading": figure.heading or part.heading_of(context),
        "finding": figure.finding,
        "caption": figure.caption,
        "notes": figure.notes,
        "svg": _Picture(figure),
        "rows": figure.count,
        "csv": _csv(figure.rows, figure.count),
        "data": tables.data(figure.name, figure.rows, MAX_TABLE_ROWS),
        "sql": context.warehouse.catalog.sql(figure.name),
        "shown": min(figure.count, MAX_TABLE_ROWS),
    }


def _fill(caption: str, context: Context) -> str:
    return caption.replace("{host}", tables.shown_host(context)).strip()


def _csv(rows: pl.DataFrame, count: int) -> str | None:
    """Packs rows for download; None above the limit: the page then names the command."""
    if count > MAX_DATA_ROWS:
        return None
    text = rows.write_csv()
    return inline.pack(text) if len(text) <= MAX_DATA_BYTES else None


def _series(warehouse: Warehouse, listed: Sequence[str]) -> list[Series]:
    """Returns applications in the order of the experiment file, then others by name.

    Captures alone are in order of traffic, most first, and after them those of grade D.
    """
    alone = warehouse.select(ALONE).rows()
    if alone:
        return [Series(run, problem, run, place) for place, (run, problem) in enumerate(alone)]
    rows = warehouse.select("select distinct app, problem from runs order by all").rows()
    order = {name: place for place, name in reversed(list(enumerate(listed)))}
    rows.sort(key=lambda row: (order.get(row[0], len(order) + 1), row[0], natural_key(row[1])))
    names = labels(rows)
    return [Series(app, problem, names[app, problem], i) for i, (app, problem) in enumerate(rows)]


def labels(rows: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Returns a name for each application and problem, without what all its problems share."""
    found = {}
    for app, problem in rows:
        others = [set(other.split(", ")) for name, other in rows if name == app]
        parts = problem.split(", ")
        own = [part for part in parts if not all(part in other for other in others)]
        name = f"{app} {', '.join(own)}".strip()
        found[app, problem] = name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}…"
    # The text that was cut may be the only difference.
    twice = {name for name in found.values() if list(found.values()).count(name) > 1}
    return {key: f"{key[0]} {key[1]}" if name in twice else name for key, name in found.items()}
