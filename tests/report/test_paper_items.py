"""The data of the papers: every item is complete, and every number is the paper's own."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flowsweep import content
from flowsweep.warehouse import figure_names
from flowsweep.warehouse.paper_items import cells
from flowsweep.warehouse.papers import stem_of

ROOT = Path(__file__).parents[2]
PAPERS = ROOT.parent / "shared" / "papers"
FOLDERS = [path.parent for path in content.papers()]
#: Independent transcriptions of the published tables, and the items with the same values.
TABLES = {
    "kitatsuji_table1_traffic.csv": ("kitatsuji", "table 1"),
    "kitatsuji_table2_rtt_totals.csv": ("kitatsuji", "table 2"),
    "kitatsuji_table3_thresholds.csv": ("kitatsuji", "table 3"),
    "lambdastream_throughput_gbit_s.csv": ("evl", "throughput"),
    "verstoep_table1_mpi_overhead_us.csv": ("verstoep", "table 1"),
    "uklight_table1_loss.csv": ("uklight", "table 1"),
    "uklight_table2_jitter.csv": ("uklight", "table 2"),
}
#: Columns of these tables that are not values.
KEYS = {"rtt_ms", "link_gbit_s", "message_mb", "loss_percent", "latency_ms",
        "jitter_fraction_of_latency"}  # fmt: skip
TEXTS = {
    "kitatsuji": "kitatsuji-network-characteristics.txt",
    "maassen": "maassen2009-reconfigurable-optical-networks.txt",
    "verstoep": "verstoep2008-awari-10g-testbed.txt",
    "uklight": "uklight-mpich-g2-pingpong.txt",
    "evl": "evl2006-lambdastream.txt",
}


@pytest.fixture(params=FOLDERS, ids=[folder.name for folder in FOLDERS])
def paper(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


def test_all_five_papers_are_here() -> None:
    assert {folder.name for folder in FOLDERS} == set(TEXTS)


def test_every_value_is_reported_whole(paper: Path) -> None:
    found = cells(paper)
    keys = Counter((cell["item"], cell["key"]) for cell in found)
    assert max(keys.values()) == 1, keys.most_common(3)
    for cell in found:
        assert cell["quantity"], cell
        assert cell["set_up_differs_in"], cell
        assert cell["absent"], cell
        assert cell["query"] is None or cell["query"] in figure_names(), cell
        assert "{" not in "".join(str(cell[name]) for name in ("key", "quantity", "unit", "where"))
        if cell["shape_to"]:
            assert keys[cell["item"], cell["shape_to"]] == 1, cell


def test_what_is_measured_has_a_rule_and_what_is_not_says_why(paper: Path) -> None:
    """An item with a query has a rule for its verdict; one without it says why."""
    stems = {path.stem for path in paper.glob("*.sql")} - {"answer"}  # `answer` is of all items
    items = {stem_of(cell["item"]) for cell in cells(paper)}
    assert stems <= items, f"no item has these: {stems - items}"
    for cell in cells(paper):
        if stem_of(cell["item"]) not in stems:
            assert not cell["absent"].startswith("no run of this experiment"), cell["item"]
        elif cell["absent"].startswith("no run of this experiment"):
            assert cell["rule"], cell


def numbers(cell: dict[str, Any]) -> float:
    return float(cell["published"])


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_the_papers(name: str) -> None:
    path = PAPERS / "tables" / name
    if not path.exists():
        pytest.skip(f"the published tables are not in {path.parent}")
    expected = Counter(
        float(text)
        for row in csv.DictReader(path.open())
        for column, text in row.items()
        if column not in KEYS and re.fullmatch(r"[\d.e+]+", text)
    )
    if "table1_traffic" in name:  # the paper names problems by numbers, such as 300 tasks
        for problem in (300.0, 500.0):
            expected[problem] -= 1
    paper, item = TABLES[name]
    found = Counter(
        numbers(cell)
        for cell in cells(content.folder("reports") / "papers" / paper)
        if cell["item"] == item
    )
    assert +expected == found


def test_what_is_in_quotes_is_the_papers_own(paper: Path) -> None:
    """Line breaks and hyphens are ignored, as those of the text differ from ours."""
    path = PAPERS / TEXTS[paper.name]
    if not path.exists():
        pytest.skip(f"the paper is not at {path}")

    def plain(text: str) -> str:
        return re.sub(r"[\s-]+", "", text).lower()

    text = plain(path.read_text(encoding="utf-8"))
    for cell in cells(paper):
        for quote in re.findall(r'"([^"]+)"', f"{cell['quantity']} {cell['where']}"):
            for part in quote.split("..."):
                assert plain(part) in text, f"{cell['item']}: {quote}"


def test_numbers_that_are_stated_stand_in_the_text(paper: Path) -> None:
    """Checks the items outside the tables, which are compared above."""
    path = PAPERS / TEXTS[paper.name]
    if not path.exists():
        pytest.skip(f"the paper is not at {path}")
    text = path.read_text(encoding="utf-8")
    # a comma separates thousands, or is a misread decimal point: 2,777 of UKLight
    found = re.findall(r"\d[\d,]*(?:\.\d+)?", text)
    stated = {
        float(one.replace(",", by)) for one in found for by in ("", ".") if one.count(",") < 2
    }
    # shares that the paper gives in percent or words: "on average over 50%", "two thirds"
    stated |= {one / 100 for one in stated} | {round(2 / 3, 4)}
    # 233K packets, 242M bytes
    stated |= {one * unit for one in stated for unit in (1e3, 1e6)}
    for cell in cells(paper):
        if cell["published"] is not None and (paper.name, cell["item"]) not in TABLES.values():
            assert any(abs(numbers(cell) - one) < 1e-9 * max(one, 1) for one in stated), cell
