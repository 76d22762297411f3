"""The page that answers questions, in headless Chromium: a file, without a network."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pytest

from flowsweep.cli.report import report
from flowsweep.errors import FlowsweepError
from flowsweep.render.live import assets, page
from flowsweep.warehouse import answers

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found() -> assets.Assets:
    try:
        return assets.find()
    except FlowsweepError as error:
        pytest.skip(f"{error.what}: `make live`")


@pytest.fixture(scope="module")
def directory(one_app_report: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = one_app_report.parent
    return shutil.copytree(source, tmp_path_factory.mktemp("live") / source.name)


@pytest.fixture(scope="module")
def live(directory: Path, found: assets.Assets) -> Path:
    return page.write(directory)[0]


def ask(tab: Any, sql: str) -> None:
    tab.locator("#sql").fill(sql)
    tab.locator("#sql").press("Control+Enter")
    tab.locator("#run:enabled").wait_for()


def rows(tab: Any) -> list[list[str]]:
    found: list[list[str]] = tab.evaluate(
        "[...document.querySelectorAll('#answer tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return found


def ready(tab: Any) -> Any:
    tab.locator("[data-ready]").wait_for(state="attached")
    return tab


@pytest.fixture(scope="module")
def started_tab(new_window: Any, live: Path) -> Any:
    """Opens the page in a window of its own, as starting DuckDB takes four seconds of a core."""
    tab = new_window()
    tab.goto(live.as_uri())
    return ready(tab)


@pytest.fixture
def live_tab(started_tab: Any) -> Any:
    """Returns the page as earlier tests left it: they query, and create nothing."""
    started_tab.complaints = []
    return started_tab


def test_every_table_answers_in_the_page_as_in_the_database(
    open_report: Any, live: Path, directory: Path
) -> None:
    tab = ready(open_report(live))
    names = [button.get_attribute("data-table") for button in tab.locator("nav button").all()]
    question = " union all ".join(f"select '{name}', count(*) from {name}" for name in names)
    ask(tab, f"from ({question}) order by all")
    with duckdb.connect(answers.path_of(directory), read_only=True) as connection:
        connection.execute(f"set file_search_path = '{directory}'")
        expected = connection.execute(f"from ({question}) order by all").fetchall()
    assert {"throughput_cdf", "thresholds", "models.runs", "facts.flows"} <= set(names)
    assert rows(tab) == [[name, str(count)] for name, count in expected]
    assert tab.complaints == []
    question = (
        "select point, host, direction, max(mbit_s), sum(share), sum(bins)::bigint"
        " from throughput_cdf group by all order by all"
    )
    ask(tab, question)
    with duckdb.connect(answers.path_of(directory), read_only=True) as connection:
        expected = connection.execute(f"select columns(*)::varchar from ({question})").fetchall()
    assert len(expected) > 50
    assert rows(tab) == [["null" if one is None else one for one in row] for row in expected]


def test_a_table_shows_its_columns_and_its_first_rows(live_tab: Any) -> None:
    live_tab.locator("nav button[data-table=throughput_cdf]").click()
    live_tab.locator("#run:enabled").wait_for()
    assert "share of bins" in live_tab.locator("#about").inner_text()
    assert "the first 1,000 are shown" in live_tab.locator("#state").inner_text()
    assert len(rows(live_tab)) == 1000
    with live_tab.expect_download() as download:
        live_tab.locator("#csv").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert f"{len(lines) - 1:,} rows" in live_tab.locator("#state").inner_text()


def test_a_question_that_has_no_answer_says_why(live_tab: Any) -> None:
    ask(live_tab, "from nothing_of_that_name")
    assert "nothing_of_that_name does not exist" in live_tab.locator("#error").inner_text()
    assert rows(live_tab) == []
    ask(live_tab, "-- now one that has\nselect 1 as one;")
    assert rows(live_tab) == [["1"]]
    assert not live_tab.locator("#error").is_visible()
    # A query that would take hours can be stopped, and the tables are available again.
    live_tab.locator("#sql").fill(
        "select sum(a.range * b.range) from range(1000000) a, range(1000000) b"
    )
    live_tab.locator("#run").click()
    live_tab.locator("#stop").click()
    live_tab.locator("#run:enabled").wait_for()
    ask(live_tab, "select count(*) > 0 as there from run_table")
    assert rows(live_tab) == [["true"]]


def test_a_text_of_megabytes_is_shown_by_its_begin(live_tab: Any) -> None:
    ask(live_tab, "select repeat('x', 100000000) as long, 7 as seven")
    ((long, seven),) = rows(live_tab)
    assert (long, seven) == (f"{'x' * 10_000} …", "7")


class Heard(http.server.SimpleHTTPRequestHandler):
    """Records the paths that are requested."""

    paths: ClassVar[list[str]] = []

    def send_head(self) -> None:
        self.paths.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    "sql",
    [
        "from read_csv('{server}/x.csv')",
        "from '{server}/x.parquet'",
        "attach '{server}/x.duckdb' as x",
        "set custom_extension_repository = '{server}'; load httpfs",
        "copy (from run_table) to '{server}/x.csv'",
    ],
)
def test_no_question_reaches_a_server(sql: str, live_tab: Any) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Heard) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ask(live_tab, sql.format(server=f"http://127.0.0.1:{server.server_port}"))
        server.shutdown()
    assert Heard.paths == []


def test_an_answer_that_would_be_markup_is_text(live_tab: Any) -> None:
    ask(live_tab, """select '<img src=x onerror="hit=1">' as "<script>hit=1</script>" """)
    assert rows(live_tab) == [['<img src=x onerror="hit=1">']]
    assert live_tab.evaluate("typeof hit") == "undefined"


def test_the_page_is_no_wider_than_a_phone(open_report: Any, live: Path) -> None:
    tab = ready(open_report(live, viewport={"width": 390, "height": 800}))
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not tab.evaluate(wide)


def test_the_same_tables_give_the_same_bytes(
    live: Path, directory: Path, found: assets.Assets
) -> None:
    again = page.build(answers.path_of(directory), found)
    assert again.html == live.read_text()
    assert again.left_out == []


def test_a_table_that_is_too_large_is_named(
    directory: Path, found: assets.Assets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "MAX_TABLE_BYTES", 20_000)
    made = page.build(answers.path_of(directory), found)
    assert "throughput_cdf" in made.left_out
    assert 'data-table="throughput_cdf"' not in made.html
    assert "Left out" in made.html


def test_a_lack_of_duckdb_is_reported_before_the_work(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(assets.VARIABLE, str(tmp_path))
    before = (directory / "report.html").stat().st_mtime_ns
    with pytest.raises(FlowsweepError, match="DuckDB-WASM is not installed") as caught:
        report(directory=directory, against=None, live=True)
    assert caught.value.remedy == "make live"
    assert (directory / "report.html").stat().st_mtime_ns == before


def test_names_that_would_be_markup_are_text(
    open_report: Any, hostile_report: Path, found: assets.Assets
) -> None:
    tab = ready(open_report(page.write(hostile_report.parent)[0]))
    ask(tab, "select distinct app from models.runs")
    assert len(rows(tab)) > 0
    assert tab.complaints == []


def test_the_version_that_is_named_is_the_one_that_is_locked() -> None:
    packages = json.loads((ROOT / ".config" / "live" / "package-lock.json").read_text())["packages"]
    assert packages[f"node_modules/{assets.DUCKDB}"]["version"] == assets.VERSION
    assert all("integrity" in one for name, one in packages.items() if name)
