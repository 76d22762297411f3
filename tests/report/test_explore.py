"""What a reader does with a figure in headless Chromium: reads, zooms, changes scales, chooses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from flowsweep import numbers

if TYPE_CHECKING:
    from flowsweep.warehouse import Warehouse

#: Visible labels on an axis of the first panel, with their pixels.
LABELS = """(svg, axis) => [...svg.querySelector('.panel').querySelectorAll('.label')]
    .filter((group) => group.getAttribute('visibility') !== 'hidden')
    .flatMap((group) => [...group.children])
    .filter((one) => (one.getAttribute('text-anchor') === 'middle') === (axis === 'x'))
    .map((one) => [one.textContent, ...one.getAttribute('transform').match(/-?[0-9.]+/g)])"""
TIP = """() => {
    const box = document.querySelector('#tip');
    return box.checkVisibility({visibilityProperty: true}) ? box.innerText.split('\\n') : [];
}"""
POINTS = """(svg) => [...svg.querySelectorAll('.panel .symbol path[data-tip]')]
    .map((one) => one.getAttribute('transform').match(/-?[0-9.]+/g).map(Number))"""


@pytest.fixture
def opened(open_report: Any) -> Iterator[Callable[..., Any]]:
    """Opens a report with the given options; no page may log a complaint."""
    tabs = []

    def open_page(path: Path, **options: Any) -> Any:
        tabs.append(open_report(path, **{"viewport": {"width": 1366, "height": 900}} | options))
        return tabs[-1]

    yield open_page
    assert [tab.complaints for tab in tabs] == [[] for _ in tabs]


def picture(tab: Any, name: str) -> Any:
    found = tab.locator(f"#figure-{name} .picture")
    found.scroll_into_view_if_needed()
    return found


def svg(tab: Any, name: str) -> Any:
    return tab.locator(f"#figure-{name} svg")


def tip(tab: Any) -> list[str]:
    """Returns the lines shown beside the pointer; none if nothing is shown."""
    found: list[str] = tab.evaluate(TIP)
    return found


def labels(tab: Any, name: str, axis: str) -> list[list[str]]:
    found: list[list[str]] = tab.evaluate(
        f"([axis]) => ({LABELS})(document.querySelector('#figure-{name} svg'), axis)", [axis]
    )
    return found


def points(tab: Any, name: str) -> list[list[float]]:
    found: list[list[float]] = svg(tab, name).evaluate(POINTS)
    return found


def open_controls(tab: Any, name: str) -> Any:
    figure = tab.locator(f"#figure-{name}")
    figure.locator(".explore summary").click()
    # The click creates the buttons.
    figure.locator(".explore button", has_text="reset").wait_for()
    return figure


def drag(tab: Any, name: str, begin: tuple[float, float], end: tuple[float, float]) -> None:
    """Drags from one place to another, in parts of the width and the height of the figure."""
    box = picture(tab, name).bounding_box()
    places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in (begin, end)]
    tab.mouse.move(*places[0])
    tab.mouse.down()
    tab.mouse.move(*places[1], steps=3)
    tab.mouse.up()


def test_a_point_tells_its_row(
    opened: Callable[..., Any], one_app_report: Path, warehouse: Warehouse
) -> None:
    tab = opened(one_app_report)
    picture(tab, "completion_by_rtt")
    medians = svg(tab, "completion_by_rtt").locator('path[data-tip*="median of"]')
    rows = warehouse.rows("completion_by_rtt").sort("rtt_ms").rows(named=True)
    assert medians.count() == len(rows) > 2
    for place, row in enumerate(rows):
        medians.nth(place).hover(force=True)
        text = tip(tab)
        assert text[:2] == ["nqueens", f"{numbers.estimate(row['rtt_ms'])} ms"]
        assert any(line.startswith(f"{numbers.estimate(row['slowdown'])}×") for line in text)  # noqa: RUF001
        runs = numbers.plural(row["runs_used"], "run")
        assert f"{numbers.estimate(row['completion_s'])} s, median of {runs}" in text
    tab.mouse.move(0, 0)
    assert tip(tab) == []


def test_the_keyboard_reads_every_step_of_a_distribution(
    opened: Callable[..., Any], one_app_report: Path, warehouse: Warehouse
) -> None:
    tab = opened(one_app_report)
    picture(tab, "message_sizes").focus()
    texts, before = [], None
    while True:
        tab.keyboard.press("ArrowRight")
        lines = tip(tab)
        if lines == before:
            break
        texts.append(lines)
        before = lines
    _, axis, direction = texts[0][0].split(" · ")
    rtt = float(texts[0][1].removesuffix(" ms"))
    assert axis == "by round-trip time"
    rows = (
        warehouse.rows("message_sizes")
        .filter(
            pl.col("direction") == direction,
            pl.col("rtt_ms").round_sig_figs(3) == rtt,
            pl.col("is_baseline"),
        )
        .sort("bytes")
    )
    assert rows.height == len(texts) > 3
    for row, lines in zip(rows.rows(named=True), texts, strict=True):
        share = float(lines[3].split(": ")[1])
        assert share == pytest.approx(row["share"] * 100, abs=0.06)
        size, _, prefix = lines[2].split(": ")[1].partition(" ")
        bytes_ = float(size) * {"": 1, "k": 1e3, "M": 1e6}[prefix]
        assert bytes_ == pytest.approx(row["bytes"], rel=0.006)


def test_every_figure_with_axes_says_something(
    opened: Callable[..., Any], one_app_report: Path
) -> None:
    tab = opened(one_app_report)
    names = [one.removeprefix("figure-") for one in tab.evaluate(
        "[...document.querySelectorAll('figure')].map((one) => one.id)"
    )]  # fmt: skip
    assert len(names) > 10
    for name in names:
        picture(tab, name).focus()
        tab.keyboard.press("ArrowRight")
        assert tip(tab), name
        assert not re.search("NaN|undefined|Infinity|: $", "\n".join(tip(tab))), name


def test_a_drag_zooms_and_a_double_click_resets(
    opened: Callable[..., Any], one_app_report: Path
) -> None:
    tab = opened(one_app_report)
    picture(tab, "completion_by_rate")
    whole = svg(tab, "completion_by_rate").inner_html()
    ticks = [float(text) for text, *_ in labels(tab, "completion_by_rate", "x")]
    drag(tab, "completion_by_rate", (0.5, 0.4), (0.8, 0.41))
    zoomed = [float(text) for text, *_ in labels(tab, "completion_by_rate", "x")]
    assert len(zoomed) > 1
    assert min(ticks) < min(zoomed) < max(zoomed) < max(ticks)
    # Along the other axis, the drag was too short to zoom.
    assert [text for text, *_ in labels(tab, "completion_by_rate", "y")][:1] == ["1"]
    box = picture(tab, "completion_by_rate").bounding_box()
    tab.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.move(0, 0)
    assert svg(tab, "completion_by_rate").inner_html() == whole


def test_panels_that_share_a_scale_zoom_together(
    opened: Callable[..., Any], one_app_report: Path
) -> None:
    tab = opened(one_app_report)
    lines = """(svg) => [...svg.querySelectorAll('.panel')].map((panel) =>
        panel.querySelector('.mark.line path').getAttribute('d'))"""
    whole = svg(tab, "throughput_cdf").evaluate(lines)
    drag(tab, "throughput_cdf", (0.1, 0.3), (0.2, 0.3))
    zoomed = svg(tab, "throughput_cdf").evaluate(lines)
    assert len(whole) == len(zoomed) > 3
    assert all(one != other for one, other in zip(whole, zoomed, strict=True))


def test_a_log_axis_becomes_linear(opened: Callable[..., Any], one_app_report: Path) -> None:
    tab = opened(one_app_report)
    figure = open_controls(tab, "completion_by_rtt")
    whole = points(tab, "completion_by_rtt")
    figure.locator("button", has_text="x: linear").click()
    ticks = [(float(text), float(x)) for text, x, _ in labels(tab, "completion_by_rtt", "x")]
    (low, left), *_, (high, right) = ticks
    assert len(ticks) > 2
    for value, pixel in ticks:
        assert pixel == pytest.approx(
            left + (value - low) / (high - low) * (right - left), abs=0.01
        )
    # Each point is where its value is on that axis.
    found = svg(tab, "completion_by_rtt").locator('path[data-tip*="median of"]')
    for place in range(found.count()):
        found.nth(place).hover(force=True)
        value = float(tip(tab)[1].removesuffix(" ms"))
        pixel = float(found.nth(place).get_attribute("transform").split("(")[1].split(",")[0])
        assert pixel == pytest.approx(left + (value - low) / (high - low) * (right - left), abs=6)
    figure.locator("button", has_text="x: log").click()
    assert points(tab, "completion_by_rtt") == whole


@pytest.mark.parametrize("name", ["throughput_cdf", "flow_durations", "message_sizes"])
def test_a_value_lies_in_the_band_that_stands_beside_it(
    opened: Callable[..., Any], one_app_report: Path, name: str
) -> None:
    tab = opened(one_app_report)
    picture(tab, name).focus()
    bands = svg(tab, name).locator("g.area path")
    is_hidden = "(all) => all.filter((one) => one.getAttribute('opacity') === '0').length"
    hidden = bands.evaluate_all(is_hidden)
    seen = shown = 0
    for key in ("ArrowRight", "ArrowLeft") * 3:
        for _ in range(30):
            tab.keyboard.press(key)
            lines = tip(tab)
            shown += bands.evaluate_all(is_hidden) < hidden
            if lines[-1].startswith("runs: "):
                low, high = (float(one) for one in re.findall(r"[\d.]+", lines[-1]))
                value = float(re.findall(r"[\d.]+", lines[-2].split(": ")[-1])[0])
                assert low - 0.02 * value <= value <= high + 0.02 * value + 0.01, lines
                seen += 1
        tab.keyboard.press("ArrowDown")
    # The baseline's band is always drawn, that of another curve only while the curve is read.
    assert seen > 3
    assert shown > 3


def test_nothing_is_read_between_points(opened: Callable[..., Any], one_app_report: Path) -> None:
    tab = opened(one_app_report)
    box = picture(tab, "completion_by_rtt").bounding_box()
    read = set()
    for step in range(60):
        tab.mouse.move(box["x"] + box["width"] * step / 60, box["y"] + box["height"] / 2)
        read.add(tuple(tip(tab)))
    texts = [words for words in read if words]
    assert all(any("median of" in line or "-r" in line for line in words) for words in texts)


def test_bars_have_no_logarithmic_axis(opened: Callable[..., Any], one_app_report: Path) -> None:
    """On a log axis, the first part of a bar, 0.4 of 2.2 s, would look like most of it."""
    tab = opened(one_app_report)
    for name, has_toggle in (("limits", False), ("completion_by_rtt", True)):
        figure = open_controls(tab, name)
        assert (figure.locator("button", has_text="x: ").count() > 0) == has_toggle, name


def test_panels_are_chosen_by_axis_and_direction(
    opened: Callable[..., Any], one_app_report: Path
) -> None:
    tab = opened(one_app_report)
    figure = open_controls(tab, "throughput_cdf")
    whole = svg(tab, "throughput_cdf").inner_html()
    seen = svg(tab, "throughput_cdf").locator(".panel:visible")
    every = seen.count()
    axis, direction = figure.locator("select").all()
    heads = figure.locator(".explore label").all_inner_texts()
    assert [one.split()[0] for one in heads] == ["axis", "direction"]
    axis.select_option(index=2)
    direction.select_option("in")
    assert (every > 3, seen.count()) == (True, 1)
    chosen = axis.evaluate("(one) => one.value")
    picture(tab, "throughput_cdf").focus()
    tab.keyboard.press("ArrowRight")
    assert tip(tab)[0] == f"nqueens · {chosen} · in"
    # The neighbouring panel with the labels of the shares is hidden, so this one has them.
    numbers_seen = seen.locator("text", has_text=re.compile("^(0|25|50|75|100)$"))
    assert numbers_seen.count() >= 5
    axis.select_option("")
    direction.select_option("")
    assert svg(tab, "throughput_cdf").inner_html() == whole


def test_a_tap_reads_a_value_on_a_phone(opened: Callable[..., Any], one_app_report: Path) -> None:
    tab = opened(one_app_report, viewport={"width": 390, "height": 844}, has_touch=True)
    picture(tab, "completion_by_rtt")
    svg(tab, "completion_by_rtt").locator('path[data-tip*="median of"]').first.tap(force=True)
    assert tip(tab)[0] == "nqueens"
    assert not tab.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )


def test_names_stay_text_where_panels_are_read_and_chosen(
    opened: Callable[..., Any], hostile_report: Path
) -> None:
    tab = opened(hostile_report)
    elements = tab.evaluate("document.querySelectorAll('img, iframe, a[href^=java]').length")
    for summary in tab.locator(".explore summary").all():
        summary.click()
    for one in tab.locator("figure .picture").all():
        one.focus()
        tab.keyboard.press("ArrowRight")
    assert tab.locator(".explore select").count() > 2
    assert elements == 0
    assert tab.locator("img, iframe").count() == 0
