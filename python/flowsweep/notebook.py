"""The repr of a table: one line in a shell, its first rows in a notebook."""

from __future__ import annotations

import html
from pathlib import Path

from flowsweep.streams import Head
from flowsweep.units import counted

#: Rows that a notebook shows of a table.
SHOWN_ROWS = 10


class Shown:
    """A table with `name`, `files` and the Arrow stream interface."""

    name: str

    def __repr__(self) -> str:
        """One line; nothing is read."""
        first, *others = self._shown_files()
        more = f" and {counted(len(others), 'more file')}" if others else ""
        return f"<{self.name} of {first}{more}>"

    def _shown_files(self) -> tuple[Path, ...]:
        """The name of the file that the table is read from."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """The first rows. For `flows` the whole capture is read, since a flow may end last."""
        import polars as pl

        frame = pl.DataFrame(Head(self, SHOWN_ROWS + 1))
        note = f"; its first {SHOWN_ROWS} rows" if len(frame) > SHOWN_ROWS else ""
        shown: str = frame.head(SHOWN_ROWS)._repr_html_()
        return f"<p>{html.escape(repr(self)[1:-1])}{note}</p>{shown}"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream."""
        raise NotImplementedError
