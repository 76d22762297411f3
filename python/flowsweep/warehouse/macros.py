"""Reads the SQL macros of reports/, and finds those that a query uses."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from functools import cached_property

from flowsweep import addresses

BEGIN = re.compile(r"^create or replace temp macro ([a-z_]+)\(", re.MULTILINE)


class Macros:
    """The formulas that several questions use, by name.

    Args:
        text: `create or replace temp macro` for each of them.
    """

    def __init__(self, text: str) -> None:
        self.script = f"set timezone = 'UTC';\n\n{text}\n{addresses.MACRO}"

    @cached_property
    def _texts(self) -> dict[str, str]:
        code = re.sub(r"--[^\n]*\n", "", self.script)
        begins = list(BEGIN.finditer(code))
        ends = [*(one.start() for one in begins[1:]), len(code)]
        return {
            one[1]: code[one.start() : end].strip() for one, end in zip(begins, ends, strict=True)
        }

    def used(self, texts: Iterable[str]) -> dict[str, str]:
        """Returns the macros that these texts call, also indirectly, sorted by name."""
        found: set[str] = set()
        waiting = list(texts)
        while waiting:
            new = (_find_called(waiting.pop()) & self._texts.keys()) - found
            found |= new
            waiting.extend(self._texts[name] for name in new)
        return {name: self._texts[name] for name in sorted(found)}


@functools.lru_cache(maxsize=1_024)  # a model is read by many facts
def _find_called(sql: str) -> frozenset[str]:
    """Returns the names that a parenthesis follows: possible macro calls."""
    return frozenset(re.findall(r"\b([a-z_]+)\(", sql))
