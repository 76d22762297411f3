"""Rows in a terminal window: no line is wider, and what is left out is named."""

from __future__ import annotations

import sys

import polars as pl
import pytest

from flowsweep.render.terminal.rows import print_rows
from flowsweep.warehouse import figure_names, reports_folder
from flowsweep.warehouse.figures import read_description

ROWS = pl.DataFrame(
    {
        "app": ["awari", "awari"],
        "problem": ["stones 7, tuned_polling false, large_messages false", "stones 7"],
        "rtt_ms": [2.64, 13.2],
        "completion_s": [11.2467, 15.87],
        "runs_used": [1, 2],
    }
)


@pytest.fixture
def printed(monkeypatch, capsys):
    """Returns a function that prints rows in a window of `width` and returns lines and note."""

    def run(rows: pl.DataFrame, width: int | None) -> tuple[list[str], str]:
        if width is None:
            monkeypatch.delenv("COLUMNS", raising=False)
        else:
            monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: width is not None)
        print_rows(rows)
        printed_text = capsys.readouterr()
        return printed_text.out.splitlines(), printed_text.err

    return run


def test_a_file_gets_everything_and_so_does_a_wide_window(printed):
    whole, note = printed(ROWS, None)
    assert printed(ROWS, 200) == (whole, note)
    assert whole[0].split() == ROWS.columns
    assert "large_messages false" in whole[1]
    assert note == ""


def test_true_and_false_are_words(printed):
    lines, _ = printed(pl.DataFrame({"is_one": [True, False, None]}), None)
    assert lines == ["is_one", "yes", "no", "-"]


@pytest.mark.parametrize("width", [80, 60, 40, 24])
def test_no_line_is_wider_than_the_window(printed, width):
    lines, note = printed(ROWS, width)
    assert max(map(len, lines)) <= width
    names = " ".join([lines[0], note])
    assert all(name in names for name in ROWS.columns)


def test_what_is_the_same_everywhere_is_reported_once_and_text_is_cut(printed):
    lines, note = printed(ROWS, 60)
    assert note == "in every row: app awari\n"
    assert lines[0].split() == ROWS.columns[1:]
    assert lines[1].startswith("stones 7, tun")
    assert "…" in lines[1]
    assert lines[2].startswith("stones 7  ")


def test_what_was_asked_goes_before_what_was_measured(printed):
    rows = ROWS.with_columns(rtt_asked_ms=pl.lit(2.0) * pl.col("runs_used"))
    lines, note = printed(rows, 60)
    assert lines[0].split() == ROWS.columns[1:]
    assert "not shown: rtt_asked_ms (" in note


def test_named_columns_stay_as_long_as_there_are_others(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_rows(ROWS, first=["problem", "runs_used"])
    output = capsys.readouterr()
    assert output.out.splitlines()[0].split() == ["problem", "rtt_ms", "runs_used"]
    assert "not shown: completion_s (" in output.err


def test_of_named_columns_the_one_named_last_goes_first(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_rows(ROWS, first=["runs_used", "completion_s", "rtt_ms", "problem"])
    output = capsys.readouterr()
    assert output.out.splitlines()[0].split() == ["completion_s", "runs_used"]
    assert "not shown: problem, rtt_ms (" in output.err


def test_one_row_keeps_its_columns(printed):
    lines, note = printed(ROWS.head(1), 60)
    assert lines[0].split() == ROWS.columns
    assert note == ""


def test_many_rows_take_no_longer_each(printed):
    """Querying the width again for every cell would take hours here."""
    count = 300_000
    lines, _ = printed(pl.DataFrame({"bin": range(count), "share": [0.5] * count}), None)
    assert len(lines) == count + 1
    assert lines[-1] == f"{count - 1}    0.5"


@pytest.mark.parametrize("name", figure_names())
def test_columns_that_stay_are_those_of_the_query(name):
    about = read_description(reports_folder(), name)
    assert {*about.get("narrow", ())} <= {*about["columns"]}
