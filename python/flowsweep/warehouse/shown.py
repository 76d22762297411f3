"""Models of the shown runs, which do not open the files of all runs.

`shown_x` is the model x computed from the runs in `shown_runs` only. Each model that reads the
files of all runs has one; its SQL is derived, not a file.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from flowsweep.warehouse.order import table_names

#: Prefix of the names for the files of the shown runs.
FILES = "shown_file_"


def models(texts: Mapping[str, str]) -> dict[str, str]:
    """Returns the SQL of each `shown_x`, by name.

    Args:
        texts: The SQL of the models, without the facts: a reader of facts reads no files.
    """
    reads = {name: table_names(text) for name, text in texts.items()}
    deep: set[str] = set()
    while (
        more := {name for name, read in reads.items() if any(map(_is_file, read)) or read & deep}
        - deep
    ):
        deep |= more
    turned = frozenset(deep)
    return {f"shown_{name}": _turn(texts[name], turned) for name in deep}


def _is_file(name: str) -> bool:
    return name.startswith("file_") and name != "file_runs"


@functools.lru_cache(maxsize=1_024)  # a process may have several warehouses
def _turn(text: str, deep: frozenset[str]) -> str:
    """Returns the SQL with reads of all runs replaced by reads of the shown runs."""

    def turn(found: re.Match[str]) -> str:
        word, name, alias = found.groups()
        if name not in deep and not _is_file(name):
            return found[0]
        return f"{word}shown_{name}{alias or f' as {name}'}"

    return re.sub(r"(\b(?:from|join)\s+)([a-z_][a-z0-9_]*)(\s+as\b)?", turn, text)
