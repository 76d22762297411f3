"""Models of the shown runs alone, which do not open the files of all runs.

`shown_x` stands for the model x as it would be if there were no runs but those of `shown_runs`. It
is there for each model that reads the files of all runs, and is no file of its own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from flowsweep.warehouse.order import table_names

#: Of the files of the shown runs.
FILES = "shown_file_"


def models(texts: Mapping[str, str]) -> dict[str, str]:
    """The text of each `shown_x`, by name.

    Args:
        texts: Of the models, without the facts: what reads those need not read the files.
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
    """The text with what it reads of all runs replaced by what is of the shown ones."""

    def turn(found: re.Match[str]) -> str:
        word, name, alias = found.groups()
        if name not in deep and not _is_file(name):
            return found[0]
        return f"{word}shown_{name}{alias or f' as {name}'}"

    return re.sub(r"(\b(?:from|join)\s+)([a-z_][a-z0-9_]*)(\s+as\b)?", turn, text)
