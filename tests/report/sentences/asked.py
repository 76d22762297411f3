"""The tables against which conditions are checked, and one sentence with its condition."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowsweep import numbers

if TYPE_CHECKING:
    from flowsweep.warehouse import Warehouse

Check = Callable[["Asked", "re.Match[str]"], bool]
#: A number as the report prints it.
N = r"(?:[\d.,]+(?: [kM])?)"


@dataclass(frozen=True)
class Asked:
    """The tables of the experiment whose report is read."""

    warehouse: Warehouse

    def one(self, sql: str) -> Any:
        """Returns the first value of a query."""
        return self.warehouse.select(sql).row(0)[0]

    def yes(self, sql: str) -> bool:
        """Whether a `from` clause has rows."""
        return bool(self.one(f"select count(*) > 0 from {sql}"))

    def rows(self, name: str) -> Any:
        """Returns the rows of a query."""
        return self.warehouse.rows(name)


@dataclass(frozen=True)
class Sentence:
    """One sentence of the caption or finding of a query's figure."""

    query: str
    pattern: str
    holds: Check | None = None
    due: Callable[[Asked], bool] | None = None


def always(query: str, *patterns: str) -> list[Sentence]:
    """Returns sentences that say how a figure is made; they are true of any data."""
    return [Sentence(query, pattern) for pattern in patterns]


def counts(sql: str) -> Check:
    """Returns a check that the first printed number is the result of a query."""
    return lambda asked, match: match[1] == numbers.count(asked.one(sql))


VALID = "(select run from runs where is_valid and is_alone and not is_warmup)"
#: Runs that figures of traffic leave out, as their captures contain two applications.
SHARED = "runs where is_valid and not is_warmup and not is_alone"
