"""The page in headless Chromium, as a reader opens it: a file, without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flowsweep.render import page
from flowsweep.render.sections import sections
from flowsweep.warehouse import Warehouse


@pytest.fixture(scope="module")
def report(one_app_report: Path) -> Path:
    return one_app_report


@pytest.fixture
def opened(open_report: Any, report: Path) -> Iterator[Any]:
    """Opens the report with the given options; no page may log a complaint."""
    tabs = []

    def open_page(**options: Any) -> Any:
        tabs.append(open_report(report, **options))
        return tabs[-1]

    yield open_page
    assert [tab.complaints for tab in tabs] == [[] for _ in tabs]


def is_wider_than_the_window(tab: Any) -> bool:
    return bool(
        tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    )


#: Figures that have rows for one_app but draw nothing: its ranks are guessed, its transfers too
#: few, and every axis that was varied has a figure of its own.
NOT_DRAWN = {
    "completion", "peak_by_ranks", "throughput_per_core", "transfer_activity", "transfer_times",
}  # fmt: skip


@pytest.fixture(scope="module")
def figures(one_app: Path) -> set[str]:
    """Returns the anchors of all figures for which the experiment has rows to draw."""
    warehouse = Warehouse(one_app)
    return {
        f"figure-{part.name}"
        for section in sections(warehouse.catalog.folder)
        for part in section.parts
        if part.kind == "figure" and warehouse.rows(part.name).height
        if part.name not in NOT_DRAWN
    }


def drawn(tab: Any) -> set[str]:
    """Returns the anchors of the figures that have a picture."""
    return {figure.get_attribute("id") for figure in tab.locator("figure:has(svg)").all()}


def test_the_page_opens_without_a_word_on_the_console(opened: Any, figures: set[str]) -> None:
    tab = opened(viewport={"width": 1366, "height": 768})
    assert drawn(tab) == figures
    assert tab.locator("#verdict p").first.inner_text().startswith("nqueens")
    assert not is_wider_than_the_window(tab)


def test_the_verdict_and_the_requirement_are_above_the_fold(opened: Any) -> None:
    tab = opened(viewport={"width": 1366, "height": 768})
    for selector in ("#verdict", "#requirement-table"):
        box = tab.locator(selector).bounding_box()
        assert box["y"] + box["height"] < 768


def test_the_page_reads_without_javascript(opened: Any, figures: set[str]) -> None:
    tab = opened(java_script_enabled=False)
    assert drawn(tab) == figures
    assert tab.locator("button:visible").count() == 0
    tab.locator("#figure-completion_by_rtt summary", has_text="SQL").click()
    assert "completion_lines" in tab.locator("#figure-completion_by_rtt pre").inner_text()


def test_a_narrow_window_does_not_scroll_sideways(opened: Any) -> None:
    assert not is_wider_than_the_window(opened(viewport={"width": 390, "height": 844}))


def test_twice_the_zoom_does_not_scroll_sideways(opened: Any) -> None:
    assert not is_wider_than_the_window(opened(viewport={"width": 683, "height": 384}))


def colour(tab: Any, selector: str, name: str) -> str:
    return str(tab.locator(selector).first.evaluate(f"node => getComputedStyle(node).{name}"))


def test_dark_follows_the_system_and_the_button(opened: Any) -> None:
    tab = opened(color_scheme="dark")
    assert colour(tab, "body", "backgroundColor") == "rgb(21, 25, 30)"
    assert colour(tab, "#figure-throughput_series svg path[stroke*='app-1']", "stroke") == (
        "rgb(37, 156, 222)"
    )
    assert colour(tab, "#figure-throughput_cdf svg path[stroke*='ramp-1']", "stroke") == (
        "rgb(175, 213, 254)"
    )
    tab.locator("#theme").click()
    assert colour(tab, "body", "backgroundColor") == "rgb(255, 255, 255)"


def test_print_is_light_even_in_a_dark_theme(opened: Any) -> None:
    tab = opened(color_scheme="dark")
    tab.emulate_media(media="print", color_scheme="dark")
    assert colour(tab, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert tab.locator("nav").is_hidden()
    assert tab.locator(".controls").first.is_hidden()


def test_a_table_of_runs_without_anything_to_note_is_not_printed(
    opened: Any, open_report: Any, two_apps: Path
) -> None:
    tab = opened()
    tab.emulate_media(media="print")
    assert tab.locator("#runs-table").is_visible()
    tab = open_report(page.write(two_apps)[0])
    tab.emulate_media(media="print")
    assert tab.locator("#runs-table tbody tr:not(.is-fine)").count() == 0
    assert tab.locator("#runs-table").is_hidden()
    assert tab.locator("#part-run_table .paper").is_visible()


def test_a_table_that_fits_on_a_page_is_printed_on_one(opened: Any) -> None:
    tab = opened()
    tab.emulate_media(media="print")
    found = tab.evaluate(
        "[...document.querySelectorAll('table.cells')].map((table) =>"
        " [table.tBodies[0].rows.length, getComputedStyle(table).breakInside])"
    )
    assert {rows for rows, _ in found if rows < 36}
    assert {rows for rows, _ in found if rows >= 36}
    assert all(rule == ("avoid" if rows < 36 else "auto") for rows, rule in found)


def test_the_page_prints(opened: Any, tmp_path: Path) -> None:
    tab = opened()
    tab.pdf(path=str(tmp_path / "report.pdf"), format="A4")
    pages = len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "report.pdf").read_bytes()))
    assert 4 <= pages <= 20


@pytest.mark.parametrize("kind", ["csv", "svg", "png"])
def test_a_figure_can_be_taken_away(opened: Any, tmp_path: Path, kind: str) -> None:
    tab = opened(accept_downloads=True)
    with tab.expect_download() as waiting:
        tab.locator(f"#figure-completion_by_rtt button[data-get={kind}]").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name == f"completion_by_rtt.{kind}"
    if kind == "csv":
        assert path.read_text().startswith("app,problem,buffer_bytes,rtt_asked_ms,")
    elif kind == "svg":
        text = path.read_text()
        assert "var(" not in text
        assert "<title" in text
    else:
        assert path.read_bytes().startswith(b"\x89PNG")


def test_the_run_table_can_be_filtered(opened: Any) -> None:
    tab = opened()
    tab.locator("#runs input").fill("invalid late")
    assert tab.locator("#runs-table tbody tr:visible").count() == 1
    assert tab.locator("#runs output").inner_text() == "1 of 31"


def test_words_in_figures_stay_inside_the_figure(opened: Any) -> None:
    tab = opened(viewport={"width": 1366, "height": 768})
    outside = tab.evaluate(
        """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
            const frame = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text')].filter(text => {
                const box = text.getBoundingClientRect();
                return box.width > 0 && (box.left < frame.left - 8 || box.right > frame.right + 8);
            }).map(text => text.textContent);
        })"""
    )
    assert outside == []
