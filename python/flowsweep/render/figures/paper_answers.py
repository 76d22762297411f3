"""Table `paper_answers`: the question of each paper, its answer, and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from flowsweep.render.tables import Column, table

if TYPE_CHECKING:
    from flowsweep.render.figure import Context

#: The head of each line of a paper, by column.
LINES = {
    "question": "it asks",
    "published": "it answers",
    "ours": "found here",
    "set_up_differs_in": "what differs here",
}


def draw(context: Context) -> Markup | None:
    """Makes a line for each of a paper's four sentences, beside its title."""
    rows = context.rows("paper_answers").rows(named=True)
    if not rows:
        return None
    names: list[str] = []
    lines: list[tuple[str, str]] = []
    for row in rows:
        # A paper may state less than all four.
        stated = [(LINES[column], _sentence(row[column])) for column in LINES if row[column]]
        title = Markup("{}<small>{}</small>").format(row["paper"], row["title"] or "")
        names += [title, *[""] * (len(stated) - 1)]
        lines += stated
    return table(
        "paper_answers",
        [
            Column("paper", names, is_number=False),
            Column("", [what for what, _ in lines], is_number=False),
            Column("", [text for _, text in lines], is_number=False),
        ],
    )


def _sentence(text: str) -> str:
    """Turns a clause into a sentence with a capital letter and a full stop."""
    end = "" if text.endswith((".", "?")) else "."
    return f"{text[:1].upper()}{text[1:]}{end}"
