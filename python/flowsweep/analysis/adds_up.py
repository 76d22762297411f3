"""Finds rows of a query that do not add up.

`adds_up` in reports/figures/<name>.yaml declares what must be true of the rows, whatever the
data: a sum equals a sum over tables, points are those of the sweep, shares are 1. A claim is a
sentence and a query that reads `figure_rows`, the rows of the figure, and any model; it gives
`subject, found, expected` and perhaps `within`, the difference that rounding explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from flowsweep.warehouse import Warehouse

#: Found and expected may differ by this share: sums of doubles, rounded to 6 digits and more.
RELATIVE = 1e-6
#: Selects the rows that contradict a claim. A single missing number is wrong, two are not.
WRONG = f"""
select
    subject::varchar as subject,
    found::double as found,
    expected::double as expected,
from (
    select null::double as within where false
    union all by name
    from (
{{sql}}
    )
)
where
    (found is null) <> (expected is null)
    or abs(found::double - expected::double)
    > greatest(abs(expected::double) * {RELATIVE}, coalesce(within, 0))
"""  # noqa: S608 - claims are of reports/


@dataclass(frozen=True)
class Contradiction:
    """A claim that the rows of a query contradict.

    Attributes:
        subject: The run, point or flow that contradicts it; the first of `subjects`.
        found: The number in the rows.
        expected: The number that the tables give.
    """

    query: str
    claim: str
    subject: str
    found: float | None
    expected: float | None
    subjects: int

    def __str__(self) -> str:
        more = f" (and {self.subjects - 1:,} more)" if self.subjects > 1 else ""
        return (
            f"{self.query}: it should hold that {self.claim}; {self.subject}{more}: "
            f"found {_number(self.found)}, expected {_number(self.expected)}"
        )


def contradictions(warehouse: Warehouse, names: Iterable[str]) -> list[Contradiction]:
    """Finds the contradictions in the rows of these queries."""
    return [found for name in names for found in _check_query(warehouse, name)]


def _check_query(warehouse: Warehouse, name: str) -> Iterator[Contradiction]:
    claims = warehouse.catalog.claims(name)
    if not claims:
        return
    warehouse.keep_rows(name)
    for claim, sql in claims:
        rows = find_wrong_rows(warehouse, sql)
        if not rows.is_empty():
            subject, found, expected = rows.row(0)
            yield Contradiction(name, claim, subject, found, expected, rows.height)


def find_wrong_rows(warehouse: Warehouse, sql: str) -> pl.DataFrame:
    """Returns the rows that contradict a claim: `subject, found, expected`."""
    return warehouse.select(WRONG.format(sql=sql.strip().rstrip(";")))


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:,.10g}"
