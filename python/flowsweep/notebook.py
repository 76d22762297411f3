"""The repr of a table: one line in a shell, its first rows in a notebook."""

from __future__ import annotations

import html
from pathlib import Path

from flowsweep.streams import Head
from flowsweep.units import counted

#: Number of rows that a notebook shows of a table.
SHOWN_ROWS = 10


class Shown:
    """A table with `name`, `files` and the Arrow stream interface."""

    name: str

    def __repr__(self) -> str:
        """Returns one line, without reading anything."""
        first, *others = self._shown_files()
        more = f" and {counted(len(others), 'more file')}" if others else ""
        return f"<{self.name} of {first}{more}>"

    def _shown_files(self) -> tuple[Path, ...]:
        """Returns the files or the folder of the table, to show them."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Shows the first rows. `flows` needs the whole capture: a flow may last until its end."""
        import polars as pl

        frame = pl.DataFrame(Head(self, SHOWN_ROWS + 1))
        note = f"; its first {SHOWN_ROWS} rows" if len(frame) > SHOWN_ROWS else ""
        shown: str = frame.head(SHOWN_ROWS)._repr_html_()
        return f"<p>{html.escape(repr(self)[1:-1])}{note}</p>{shown}"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the rows as an Arrow C stream."""
        raise NotImplementedError
