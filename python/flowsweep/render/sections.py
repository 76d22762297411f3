"""The sections of the report and what is in them: found by being there.

A figure is `reports/figures/NAME.sql`, the `.yaml` beside it, which names its section, and the
drawing `render/figures/NAME.py`. A table without a drawing is printed as its rows are.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from flowsweep.render import plain
from flowsweep.warehouse import figures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

    from markupsafe import Markup

    from flowsweep.render.figure import Context, Figure


class Draw(Protocol):
    """Makes a figure or a table; None where there is nothing to draw."""

    def __call__(self, context: Context) -> Figure | Markup | None:
        """What is drawn of the rows that `context` gives."""
        ...


@dataclass(frozen=True)
class Part:
    """A figure or table of the report.

    Attributes:
        heading: From the `.yaml`; the drawing may have one that depends on the rows.
        caption: Of a table; `{host}` stands for the host that is shown. A figure has its own.
        notes: The rest of the caption, which a reader opens.
        show: Columns of a plain table and their heads; empty: all columns.
        alone: Text in place of these in a report on captures alone; none: the part is of
            a sweep, and such a report goes without it.
    """

    name: str
    section: str
    order: int
    kind: Literal["figure", "table"]
    heading: str = ""
    caption: str = ""
    notes: str = ""
    show: dict[str, str] | None = None
    alone: dict[str, str] | None = field(default_factory=dict)

    @cached_property
    def drawing(self) -> ModuleType | None:
        """The module that draws it, if there is one."""
        name = f"flowsweep.render.figures.{self.name}"
        return importlib.import_module(name) if importlib.util.find_spec(name) else None

    def draw(self, context: Context) -> Figure | Markup | None:
        """The figure, or the HTML of the table."""
        if context.stands_alone and self.alone is None:
            return None
        if self.drawing is None:
            return plain.draw(context, self.name, self.show)
        return cast("Draw", self.drawing.draw)(context)

    def heading_of(self, context: Context) -> str:
        """The heading, which may depend on the rows."""
        made = getattr(self.drawing, "heading", None)
        given = str(made(context)) if made else self._worded("heading", self.heading, context)
        return given.replace("{per_point}", context.terms.per_point)

    def caption_of(self, context: Context) -> str:
        """The caption that the `.yaml` gives a table."""
        return self._worded("caption", self.caption, context)

    def notes_of(self, context: Context) -> str:
        """What a reader of the table opens below the caption."""
        return self._worded("notes", self.notes, context)

    def _worded(self, key: str, usual: str, context: Context) -> str:
        return (self.alone or {}).get(key, usual) if context.stands_alone else usual

    def note(self, context: Context) -> str | None:
        """What the drawing adds to the caption."""
        made = getattr(self.drawing, "note", None)
        return cast("str | None", made(context)) if made else None


@dataclass(frozen=True)
class Section:
    """A part of the page: anchor, heading, and what is in it.

    Attributes:
        subject: What the section is about, for the end of the page where it has no data.
        query: The query whose needs say why it has none.
        is_asked: Whether it appears only on request, so that the page does not mention its absence.
        alone: Its heading in a report on captures alone; None: that goes without it.
    """

    anchor: str
    heading: str
    subject: str
    query: str
    parts: Sequence[Part]
    is_asked: bool = False
    alone: str | None = ""

    def heading_of(self, context: Context) -> str:
        """What stands above it."""
        return self.alone or self.heading if context.stands_alone else self.heading

    def is_left_out(self, context: Context) -> bool:
        """Whether it is of a sweep, and there is none."""
        return context.stands_alone and self.alone is None

    def absent(self, context: Context) -> str:
        """Why the page lacks this section, in words that are true of the tables."""
        if context.rows(self.query).height:
            why = self._too_little or f"the rows of the query {self.query} have nothing to draw"
        else:
            lacks = context.warehouse.lacks(self.query)
            why = lacks or f"the query {self.query} has no rows"
        return f"No {self.subject}: {why}."

    @property
    def _too_little(self) -> str:
        """What is missing where the query has rows, and there is nothing to draw."""
        drawings = [part.drawing for part in self.parts if part.name == self.query]
        return "".join(getattr(drawing, "TOO_LITTLE", "") for drawing in drawings)


def sections(folder: Path) -> list[Section]:
    """The sections in the order of the page.

    Args:
        folder: The folder `reports`.
    """
    described: dict[str, dict[str, Any]] = figures.read(folder / "sections.yaml")
    parts = [
        Part(name, **{key: found[key] for key in KEYS if key in found})
        for name in figures.paths(folder)
        if "section" in (found := figures.read_description(folder, name))
    ]
    parts.sort(key=lambda part: (part.order, part.name))
    return [
        Section(anchor=anchor, **about, parts=[part for part in parts if part.section == anchor])
        for anchor, about in described.items()
    ]


KEYS = ("section", "order", "kind", "heading", "caption", "notes", "show", "alone")
