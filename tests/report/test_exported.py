"""`report --figures`: each figure as files for a publication."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import polars as pl
import pytest
import tiny
from pypdf import PdfReader

from flowsweep.warehouse import Warehouse

MM_PER_INCH = 25.4


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, command) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    tiny.runs(folder / "exp", [
        tiny.run(
            f"{rtt}-{number}", baseline=rtt == 1, rtt_asked_ns=rtt * tiny.MS,
            rtt_measured_ns=rtt * tiny.MS, completion_s=8 + rtt / 10 + number / 100,
        )
        for rtt in (1, 4, 16)
        for number in range(3)
    ])  # fmt: skip
    figures = folder / "figures"
    done = command(
        "flowsweep", "report", folder / "exp", "--figures", figures, "--figure-width", "88"
    )
    assert done.returncode == 0, done.stderr
    assert f"{figures}/completion_by_rtt.pdf" in done.stdout.split()
    return folder


def test_each_figure_has_its_files(exported: Path) -> None:
    names = {path.stem for path in (exported / "figures").iterdir()}
    assert {"completion_by_rtt", "thresholds"} <= names
    for name in names:
        found = {path.suffix for path in (exported / "figures").glob(f"{name}.*")}
        assert found == {".svg", ".pdf", ".png", ".csv", ".txt"}


def test_pictures_are_as_wide_as_asked(exported: Path) -> None:
    folder = exported / "figures"
    assert 'width="88mm"' in (folder / "completion_by_rtt.svg").read_text()
    width, _ = struct.unpack(">II", (folder / "completion_by_rtt.png").read_bytes()[16:24])
    assert width == pytest.approx(88 / MM_PER_INCH * 300, abs=1)
    [page] = PdfReader(folder / "completion_by_rtt.pdf").pages
    assert page.mediabox.width == pytest.approx(88 / MM_PER_INCH * 72, abs=0.1)


def test_a_pdf_has_its_fonts_and_a_picture_its_colours(exported: Path) -> None:
    for path in (exported / "figures").glob("*.pdf"):
        assert b"/FontFile" in path.read_bytes(), path
    for path in (exported / "figures").glob("*.svg"):
        assert "var(" not in path.read_text(), path


def test_rows_and_words_are_those_of_the_page(exported: Path) -> None:
    figures = exported / "figures"
    rows = pl.read_csv(figures / "completion_by_rtt.csv")
    expected = Warehouse(exported / "exp").rows("completion_by_rtt")
    assert rows["slowdown"].to_list() == expected["slowdown"].to_list()
    words = (figures / "completion_by_rtt.txt").read_text()
    assert re.match(r"Figure \d+\. Completion time against RTT\. Points: medians", words)
    assert "<" not in words


def test_a_width_that_no_page_has_is_refused(tmp_path: Path, command) -> None:
    done = command("flowsweep", "report", tmp_path, "--figures", tmp_path, "--figure-width", "9")
    assert done.returncode != 0
    assert "20 to 1000, in millimetres" in done.stderr


def test_the_same_picture_gives_the_same_bytes_in_another_process(
    exported: Path, tmp_path: Path, command
) -> None:
    """A hash map that Rust seeds per process orders the fonts in vl-convert's PDF."""
    for number in range(3):
        again = tmp_path / str(number)
        done = command(
            "flowsweep", "report", exported / "exp", "--figures", again, "--figure-width", "88"
        )
        assert done.returncode == 0, done.stderr
        for path in sorted((exported / "figures").iterdir()):
            assert (again / path.name).read_bytes() == path.read_bytes(), path.name
