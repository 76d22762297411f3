"""The captures of `tests/data`: intact, small, each with its origin, its licence and its oracle."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

from collection import DATA

OWN = {"MANIFEST.csv", "README.md", "take.py"}
ZEEK = "oracle/zeek-8.0.10/"
#: Captures made for this project after faults that users of other programs reported.
MADE = "threads/"
MOST_BYTES = 1_000_000
REDISTRIBUTABLE = {"Apache-2.0", "BSD-3-Clause", "MIT", "Unlicense"}


def manifest() -> list[dict[str, str]]:
    with (DATA / "MANIFEST.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def files() -> dict[str, Path]:
    found = (path for path in DATA.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {str(path.relative_to(DATA)): path for path in found}


def test_every_capture_is_the_one_that_its_origin_has() -> None:
    for row in manifest():
        content = (DATA / row["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == row["sha256"], row["file"]
        assert len(content) == int(row["bytes"])


def test_every_file_is_a_capture_of_the_manifest_or_tells_of_one() -> None:
    named = {row["file"] for row in manifest()}
    rest = set(files()) - named - OWN
    assert all(name.startswith(("licences/", "oracle/", MADE)) for name in rest), rest
    logs = {
        str(Path(name).parent).partition("/zeek-8.0.10/")[2] for name in rest if "zeek-8" in name
    }
    assert {name.removeprefix(ZEEK) for name in logs} <= named


def test_every_capture_may_be_passed_on_and_its_licence_is_there() -> None:
    for row in manifest():
        assert row["licence"] in REDISTRIBUTABLE, row["file"]
        text = DATA / "licences" / f"{row['file'].partition('/')[0]}.txt"
        assert len(text.read_text(encoding="utf-8")) > 100
        assert row["author"]
        assert row["exercises"]


def test_the_readme_names_every_capture() -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for row in manifest():
        assert f"| `{row['file']}` | {row['exercises']} | {row['author']} |" in readme


def test_the_readme_says_where_every_made_capture_comes_from() -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for path in (DATA / MADE).iterdir():
        assert readme.count(f"| `{MADE}{path.name}` | ") == 1, path.name


def test_all_together_are_small() -> None:
    assert sum(path.stat().st_size for path in files().values()) < MOST_BYTES
