"""Every number on the demo's page, recomputed from the raw tables with polars alone.

The recomputation uses none of the project's SQL or analysis: see `raw.py`. Columns that are not
recomputed are listed here with the reason, and no others may be missing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))


import crossing
import exchanges
import flows
import gaps
import matched
import path
import rates
import records
import sentence_numbers
import sweep
from compare import Comparison, Expected, compare, page_rows
from raw import Raw

from flowsweep.warehouse import Warehouse

SUBJECTS: tuple[Callable[[Raw], dict[str, Expected]], ...] = (
    sweep.recompute,
    records.recompute,
    flows.recompute,
    rates.recompute,
    crossing.recompute,
    path.recompute,
    exchanges.recompute,
    gaps.recompute,
    matched.recompute,
)
QUERIES = (
    "requirement", "thresholds", "completion_by_rtt", "completion_by_rate", "totals",
    "throughput_series", "throughput_cdf", "monitoring", "wan_throughput", "path_throughput",
    "throughput_per_core",
    "lightpaths", "flow_sizes", "flow_durations", "flow_rates", "limits", "bytes_in_flight",
    "message_rate",
    "message_sizes", "message_rate_series", "think_times", "phase_times", "packet_intervals",
    "one_way_delay", "losses_by_place", "time_shares", "time_path", "run_table", "run_quality",
)  # fmt: skip
#: Too many rows to embed: the page draws them, and `flowsweep query` prints them.
TOO_LONG = {"throughput_cdf", "think_times"}
#: Distributions of fewer than 20 flows: `flowsweep query` has their rows, the page no figure.
NOT_DRAWN = {"flow_durations", "flow_rates"}
A_WORD = "a letter with its reasons, no number: tests/report/test_grades.py"
#: Columns that are not recomputed, and why.
EXCEPTIONS = {
    ("requirement", "worst_grade"): A_WORD,
    ("run_quality", "grade"): A_WORD,
    ("run_quality", "grade_reasons"): A_WORD,
}


@dataclass(frozen=True)
class Page:
    """The demo's page.

    Attributes:
        text: Its HTML.
        raw: The raw tables.
        embedded: Rows of its figures and tables, in the order of the page.
        rows: The rows of each query.
        expected: The same rows, recomputed.
    """

    text: str
    raw: Raw
    embedded: list[pl.DataFrame]
    rows: dict[str, pl.DataFrame]
    expected: dict[str, Expected]

    def compared(self, name: str) -> Comparison:
        """Compares the rows of one query with the recomputed ones."""
        return compare(name, self.rows[name], self.expected[name])


@pytest.fixture(scope="module")
def page(captured_demo: Path) -> Page:
    """Returns the page that `make demo` writes for the captured demo."""
    warehouse, raw = Warehouse(captured_demo), Raw(captured_demo)
    with warehouse.reading():
        rows = {name: warehouse.rows(name) for name in QUERIES}
    expected: dict[str, Expected] = {}
    for recompute in SUBJECTS:
        expected |= recompute(raw)
    text = (captured_demo / "report.html").read_text()
    return Page(text, raw, page_rows(text), rows, expected)


@pytest.mark.parametrize("name", QUERIES)
def test_every_number_is_the_one_of_the_raw_tables(page: Page, name: str) -> None:
    found = page.compared(name)
    assert found.numbers > 0
    assert found.faults == []


def test_columns_that_are_not_worked_out_are_those_with_a_reason(page: Page) -> None:
    missing = {(name, column) for name in QUERIES for column in page.compared(name).missing}
    assert missing == set(EXCEPTIONS)


def test_the_page_embeds_the_rows_of_these_queries_and_no_others(page: Page) -> None:
    left = {name: rows for name, rows in page.rows.items() if name not in TOO_LONG | NOT_DRAWN}
    assert len(page.embedded) == len(left)
    for shown in page.embedded:
        name = next(name for name, rows in left.items() if rows.columns == shown.columns)
        compared = compare(name, shown, page.expected[name])
        assert compared.faults == []
        assert compared.numbers == page.compared(name).numbers
        del left[name]


def test_a_number_that_is_off_by_more_than_its_last_decimal_is_found(page: Page) -> None:
    """Changes, in each query, the first number of the last column of numbers."""
    for name in QUERIES:
        expected, rows = page.expected[name], page.rows[name]
        column = next(
            one for one in reversed(rows.columns)
            if one in expected.rows.columns and one not in expected.order
            and rows[one].dtype.is_numeric() and rows[one].null_count() < rows.height
        )  # fmt: skip
        place = next(at for at, value in enumerate(rows[column]) if value is not None)
        value = rows[column][place]
        worse = rows[column].cast(pl.Float64).to_list()
        worse[place] = value + 2.5 * max(expected.tolerance(column, value), 1e-6)
        faults = compare(name, rows.with_columns(pl.Series(column, worse)), expected).faults
        assert len(faults) == 1, name


def test_the_verdict_and_every_caption_print_these_numbers_and_no_others(page: Page) -> None:
    texts = sentence_numbers.texts(page.text)
    expected = sentence_numbers.expected(page.raw, page.expected)
    assert texts.keys() == expected.keys() - NOT_DRAWN
    for name, text in texts.items():
        printed = sentence_numbers.numbers(text)
        assert expected[name] <= printed, name
        assert sentence_numbers.unexplained(name, expected[name], printed) == set(), name
