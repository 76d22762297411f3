"""ARCHITECTURE.md names existing places; definitions in two languages agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowsweep import defaults

STATION = re.compile(r"^\| (\d+) \| (.+?) \|", re.MULTILINE)
NAMED = re.compile(r"`([\w./-]+)`(?:, `(\w+)`)?")


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    return (root / "ARCHITECTURE.md").read_text()


def test_the_stations_are_numbered_in_their_order(text: str) -> None:
    numbers = [int(number) for number, _ in STATION.findall(text)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 25


def test_each_station_is_a_file_with_what_it_names(root: Path, text: str) -> None:
    for number, places in STATION.findall(text):
        found = NAMED.findall(places)
        assert found, number
        for file, name in found:
            assert (root / file).is_file(), (number, file)
            code = (root / file).read_text()
            assert not name or re.search(rf"\b(fn|def) {name}\b", code), (number, file, name)


def test_each_answer_is_a_place(root: Path, text: str) -> None:
    rows = text.partition("## Where to look")[2].partition("\n## ")[0]
    for row in re.findall(r"^\|[^|]+\|(.+)\|$", rows, re.MULTILINE)[1:]:
        first: Path | None = None
        for name in re.findall(r"`([^`]+)`", row):
            path = root / name
            if not path.exists() and first is not None:  # `link.rs` next to the previous place
                path = first.parent / name
            assert path.exists(), name
            first = path


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "workflows/README.md"])
def test_each_path_of_other_pages_exists(root: Path, page: str) -> None:
    named = re.findall(r"`((?:capture|parsers|python|reports|tests|workflows)/[\w./-]+)`",
                       (root / page).read_text())  # fmt: skip
    assert named
    assert [name for name in named if not (root / name).exists()] == []


def test_the_defaults_of_the_commands_are_those_of_the_parser(root: Path) -> None:
    """Both languages define them, and neither can read the other's."""
    options = (root / "parsers/src/pipeline/options.rs").read_text()
    set_there = dict(re.findall(r"^            (\w+): ([0-9_]+),$", options, re.MULTILINE))
    assert int(set_there["bin_ns"]) == defaults.BIN_NS
    assert int(set_there["udp_timeout_ns"]) == defaults.UDP_TIMEOUT_NS
    assert int(set_there["order_window_ns"]) == defaults.ORDER_WINDOW_NS
    assert int(set_there["order_window_packets"]) == defaults.ORDER_WINDOW_PACKETS
