"""Finds the sections of the report and their parts by the files that exist.

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
    """Makes a figure or a table; None if there is nothing to draw."""

    def __call__(self, context: Context) -> Figure | Markup | None:
        """Draws the rows that `context` provides."""
        ...


@dataclass(frozen=True)
class Part:
    """A figure or table of the report.

    Attributes:
        heading: From the `.yaml`; the drawing may make one that depends on the rows.
        caption: Caption of a table; `{host}` is the shown host. A figure makes its own.
        notes: The rest of the caption, which a reader can unfold.
        show: Columns of a plain table and their heads; empty: all columns.
        alone: Texts that replace these in a report on captures alone; None: the part needs a
            sweep and is left out there.
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
        """Draws the figure or the HTML of the table; None if there is nothing to draw."""
        if context.stands_alone and self.alone is None:
            return None
        if self.drawing is None:
            return plain.draw(context, self.name, self.show)
        return cast("Draw", self.drawing.draw)(context)

    def heading_of(self, context: Context) -> str:
        """Returns the heading, which may depend on the rows."""
        made = getattr(self.drawing, "heading", None)
        given = str(made(context)) if made else self._worded("heading", self.heading, context)
        return given.replace("{per_point}", context.terms.per_point)

    def caption_of(self, context: Context) -> str:
        """Returns the caption of a table from the `.yaml`."""
        return self._worded("caption", self.caption, context)

    def notes_of(self, context: Context) -> str:
        """Returns the notes that a reader of the table can unfold below the caption."""
        return self._worded("notes", self.notes, context)

    def _worded(self, key: str, usual: str, context: Context) -> str:
        return (self.alone or {}).get(key, usual) if context.stands_alone else usual

    def note(self, context: Context) -> str | None:
        """Returns what the drawing adds to the caption."""
        made = getattr(self.drawing, "note", None)
        return cast("str | None", made(context)) if made else None


@dataclass(frozen=True)
class Section:
    """A part of the page: anchor, heading, and contents.

    Attributes:
        subject: What the section is about; the end of the page names it if it has no data.
        query: The query whose needs explain why it has none.
        is_asked: Whether it appears only on request, so that the page does not mention its absence.
        alone: Its heading in a report on captures alone; None: it is left out there.
    """

    anchor: str
    heading: str
    subject: str
    query: str
    parts: Sequence[Part]
    is_asked: bool = False
    alone: str | None = ""

    def heading_of(self, context: Context) -> str:
        """Returns the heading of the section."""
        return self.alone or self.heading if context.stands_alone else self.heading

    def is_left_out(self, context: Context) -> bool:
        """Returns whether the section needs a sweep, and there is none."""
        return context.stands_alone and self.alone is None

    def absent(self, context: Context) -> str:
        """States why the page lacks this section, by what the tables contain."""
        if context.rows(self.query).height:
            why = self._too_little or f"the rows of the query {self.query} have nothing to draw"
        else:
            lacks = context.warehouse.lacks(self.query)
            why = lacks or f"the query {self.query} has no rows"
        return f"No {self.subject}: {why}."

    @property
    def _too_little(self) -> str:
        """What is missing if the query has rows, but nothing can be drawn."""
        drawings = [part.drawing for part in self.parts if part.name == self.query]
        return "".join(getattr(drawing, "TOO_LITTLE", "") for drawing in drawings)


def sections(folder: Path) -> list[Section]:
    """Returns the sections in the order of the page.

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
