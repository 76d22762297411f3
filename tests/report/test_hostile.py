"""Names from captures and run.json are text in the report, whatever they contain."""

from __future__ import annotations

import base64
import gzip
import inspect
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import hostile
import pytest
import tiny
from markupsafe import Markup

from flowsweep.errors import FlowsweepError
from flowsweep.render import charts, inline, markup, page, svg, tables
from flowsweep.render import sections as parts
from flowsweep.warehouse import Warehouse, reports_folder

ROOT = Path(__file__).parents[2]
SECTIONS = (
    "verdict", "requirement", "sensitivity", "traffic", "wan", "flows", "limits", "messages",
    "transfers", "application", "intervals", "runs", "quality", "provenance",
)  # fmt: skip
#: All elements of a report without such names; the parser writes them in lower case.
ELEMENTS = frozenset({
    "a", "b", "body", "button", "clippath", "code", "defs", "details", "div", "figcaption",
    "figure", "footer", "g", "h1", "h2", "h3", "head", "header", "html", "input", "label", "line",
    "link", "main", "meta", "nav", "output", "p", "path", "pre", "rect", "script", "section",
    "small", "span", "style", "summary", "svg", "table", "tbody", "td", "text", "th", "thead",
    "title", "tr", "ul", "li",
})  # fmt: skip


class Reader(HTMLParser):
    """Collects what a browser makes of a page: its elements, its attributes, its text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.sections: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "section":
            self.sections.append(dict(attrs)["id"] or "")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:60]}")


@pytest.fixture(scope="module")
def html(hostile_report: Path) -> str:
    return hostile_report.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


def test_no_name_becomes_an_element_or_an_attribute(read: Reader) -> None:
    assert read.elements - ELEMENTS == set()
    assert {name for name in read.attributes if name.startswith("on") or name == "style"} == set()


def test_all_sections_are_there(read: Reader) -> None:
    assert sorted(read.sections) == sorted(SECTIONS)


@pytest.mark.parametrize(
    "name",
    [f"west{hostile.IMAGE}", f"east{hostile.ENDS}", f"nqueens-rtt_4ms-r1{hostile.PATH}",
     f"nqueens{hostile.SWALLOWS}", f"pc3{hostile.PATH}", f"timed out after 120 s{hostile.SWALLOWS}",
     f"a{hostile.IMAGE} (runs)", f"send{hostile.IMAGE}", f"udp{hostile.ENDS}",
     f"title: {hostile.ENDS}", f"results {hostile.PATH}"],
)  # fmt: skip
def test_names_are_shown_as_text(read: Reader, name: str) -> None:
    assert name in read.text


def test_control_characters_are_pictures_and_none_is_left(html: str) -> None:
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", html) is None
    assert "\u2400\u2407\u241b[31m\u2421" in html


def test_rows_inside_the_page_are_the_rows(html: str) -> None:
    found = re.findall(r'<script type="application/gzip">([A-Za-z0-9+/=]*)</script>', html)
    assert len(found) == html.count('<script type="application/gzip">') > 15
    rows = [gzip.decompress(base64.b64decode(one)).decode() for one in found]
    assert any(f"nqueens{hostile.SWALLOWS}{hostile.CONTROL}" in one for one in rows)


def test_a_cell_is_escaped_unless_it_is_markup() -> None:
    columns = [tables.Column("<u>", ["<u>", Markup("<b>{}</b>").format("<u>")])]
    made = tables.table("made", columns)
    assert isinstance(made, Markup)
    assert "<u>" not in made
    assert "<b>&lt;u&gt;</b>" in made


def test_a_picture_with_more_than_a_drawing_is_refused() -> None:
    chart = charts.Chart([{"x": 1}]).mark("image", url="data:,").encode(x="x:Q")
    with pytest.raises(FlowsweepError, match="draws nothing"):
        svg.render(chart, "made")


def test_what_a_script_of_data_holds_cannot_end_it() -> None:
    text = "<!--<script></script>&\u2028\u2029'\"" * 50
    packed = inline.pack(text)
    assert re.fullmatch("[A-Za-z0-9+/=]+", packed)
    assert gzip.decompress(base64.b64decode(packed)).decode() == text
    assert packed == inline.pack(text)


def test_nothing_is_marked_safe_in_the_template() -> None:
    template = (ROOT / "reports" / "page.html.j2").read_text(encoding="utf-8")
    assert not re.findall(r"\|\s*safe|autoescape|\bon\w+=|\bstyle=", template)


def test_what_the_page_takes_as_markup_is_typed_so() -> None:
    tables_of = [part for section in parts.sections(reports_folder()) for part in section.parts]
    makers = [part.drawing.draw for part in tables_of if part.kind == "table" and part.drawing]
    assert len(makers) > 8
    for make in [*makers, svg.render, tables.table, tables.data, markup.to_html]:
        assert inspect.get_annotations(make)["return"].startswith("Markup"), make


FORGOTTEN = """
from markupsafe import Markup

def cell(name: str) -> Markup:
    return f"<b>{name}</b>"

def row(name: str) -> Markup:
    return cell(name) + name if name else "<hr>"
"""


def test_text_that_is_taken_for_markup_is_a_type_error(tmp_path: Path) -> None:
    (tmp_path / "forgotten.py").write_text(FORGOTTEN)
    checked = _mypy(tmp_path / "forgotten.py", tmp_path)
    assert checked.count('got "str", expected "Markup"') == 1
    assert "Found 2 errors" in checked


def test_markup_made_of_a_variable_is_refused_by_the_linter(tmp_path: Path) -> None:
    code = "from markupsafe import Markup\n\n\ndef f(name):\n    return Markup(f'<b>{name}</b>')\n"
    (tmp_path / "forgotten.py").write_text(code)
    command = ["ruff", "check", "--select", "S704", "--isolated", tmp_path / "forgotten.py"]
    assert "S704" in _run(command)
    config = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'select = ["ALL"]' in config
    assert "S704" not in config


def _mypy(path: Path, folder: Path) -> str:
    return _run(["mypy", "--strict", "--cache-dir", folder / "cache", path])


def _run(command: list[Any]) -> str:
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False,
                          cwd=ROOT)  # fmt: skip
    return done.stdout + done.stderr


def test_queries_and_notebooks_show_names_as_they_are(hostile_report: Path, command: Any) -> None:
    rows = Warehouse(hostile_report.parent).rows("run_table")
    wanted = {f"nqueens{hostile.SWALLOWS}{hostile.CONTROL}"} & set(rows["app"])
    assert wanted
    # A notebook shows this form of a table.
    shown = Reader()
    shown.feed(rows.select("run", "app", "reason", "compute")._repr_html_())
    assert shown.elements <= {"div", "style", "small", "table", "thead", "tbody", "tr", "th", "td"}
    done = command("flowsweep", "query", "run_table", hostile_report.parent, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert wanted < {row["app"] for row in json.loads(done.stdout)}


NAME = "**lu** [[x]] `a` <b> | *c* ]] [d"


def test_a_name_with_the_markup_of_sentences_is_shown_as_typed(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run(f"{rtt}-{n}", app=NAME, baseline=rtt == 1, rtt_asked_ns=rtt * tiny.MS,
                 rtt_measured_ns=rtt * tiny.MS, completion_s=1.0 + rtt / 10 + n / 1000)
        for rtt in (1, 4, 16) for n in range(3)
    ])  # fmt: skip
    made = page.build(tmp_path)
    assert made.first.startswith(NAME)
    reader = Reader()
    reader.feed(made.html.split('id="verdict"')[1].split("</section>", maxsplit=1)[0])
    assert NAME in reader.text
    assert not re.search("[\ufdd0-\ufdd2]", made.html)


def test_a_shielded_name_is_no_markup() -> None:
    text = f"**{markup.shield(NAME)}** needs **3 Mbit/s** [[(95 % interval 2 to 4)]]"
    assert markup.plain(text) == f"{NAME} needs 3 Mbit/s (95 % interval 2 to 4)"
    assert markup.to_html(text).startswith(
        "<b>**lu** [[x]] `a` &lt;b&gt; | *c* ]] [d</b> needs <b>"
    )
    assert markup.plain("**a**") == "a"
