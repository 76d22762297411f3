"""The page's Content-Security-Policy in Chromium: it hinders no reader and blocks injections."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.render import page

#: Collects what the policy forbids, starting before the first element.
WATCH = """() => {
    window.forbidden = [];
    document.addEventListener("securitypolicyviolation", (event) =>
        window.forbidden.push(event.effectiveDirective));
}"""


@pytest.fixture(scope="module")
def report(full: Path) -> Path:
    return page.write(full)[0]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes a report of one run without captures."""
    folder = tmp_path_factory.mktemp("small")
    return page.write(tiny.runs(folder, [tiny.run("a", baseline=True)]))[0]


@pytest.fixture
def server() -> Iterator[Any]:
    """Runs a server that records the requested paths."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.server.asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        made.asked, made.daemon_threads = [], True
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", ["csv", "svg", "png"])
def test_every_download_works_under_the_policy(
    open_report: Any, report: Path, tmp_path: Path, kind: str
) -> None:
    tab = open_report(report, accept_downloads=True)
    tab.evaluate(WATCH)
    buttons = tab.locator(f"button[data-get={kind}]:visible").all()
    # Every second one: Chromium lets a page download no more than ten files in a row.
    assert len(buttons) > 2
    for button in buttons[::2]:
        with tab.expect_download() as waiting:
            button.click()
        assert waiting.value.suggested_filename.endswith(f".{kind}")
        waiting.value.save_as(tmp_path / "file")
        assert (tmp_path / "file").stat().st_size > 50
    assert tab.evaluate("window.forbidden") == []
    assert tab.complaints == []


def test_every_other_control_works_under_the_policy(
    open_report: Any, one_app_report: Path, tmp_path: Path
) -> None:
    tab = open_report(one_app_report)
    tab.evaluate(WATCH)
    for summary in tab.locator("summary:visible").all():
        summary.click()
    filters = tab.locator(".filter input:visible").all()
    assert len(filters) == 2
    for box in filters:
        box.fill("nothing has this")
    assert tab.locator("#runs-table tbody tr:visible").count() == 0
    for _ in range(2):
        tab.locator("#theme").click()
    tab.locator("nav a").last.click()
    tab.emulate_media(media="print")
    tab.pdf(path=str(tmp_path / "report.pdf"))
    assert tab.evaluate("window.forbidden") == []
    assert tab.complaints == []


def test_applications_have_their_colours_without_a_style_attribute(
    open_report: Any, report: Path
) -> None:
    tab = open_report(report)
    dots = "[...document.querySelectorAll('.app')].map(it => getComputedStyle(it, '::before')"
    colours = set(tab.evaluate(f"{dots}.backgroundColor)"))
    named = tab.evaluate(
        "[...new Set([...document.querySelectorAll('.app')].map(it => it.className))]"
    )
    assert len(colours) == len(named) >= 4
    assert "rgba(0, 0, 0, 0)" not in colours


INJECTED = {
    "script": "<script>window.hit=1</script>",
    "script from elsewhere": '<script src="{url}/script"></script>',
    "handler": '<img src="data:," onerror="window.hit=1">',
    "handler of SVG": '<svg onload="window.hit=1"></svg>',
    "image": '<img src="{url}/image">',
    "style from elsewhere": '<link rel="stylesheet" href="{url}/style">',
    "style": "<style>body {{ background: url({url}/background) }}</style>",
    "style attribute": '<p style="background: url({url}/background)">x</p>',
    "frame": '<iframe src="{url}/frame"></iframe>',
    "frame with a script": '<iframe srcdoc="<script>parent.hit=1</script>"></iframe>',
    "object": '<object data="{url}/object"></object>',
    "video": '<video src="{url}/video" autoplay></video>',
    "font": "<style>@font-face {{ font-family: x; src: url({url}/font) }}"
            " body {{ font-family: x }}</style>",
}  # fmt: skip


@pytest.mark.parametrize("kind", INJECTED)
def test_what_gets_into_the_page_does_not_run_or_fetch(
    open_report: Any, small: Path, tmp_path: Path, server: Any, kind: str
) -> None:
    url = f"http://127.0.0.1:{server.server_port}"
    html = small.read_text(encoding="utf-8")
    injected = INJECTED[kind].format(url=url)
    altered = tmp_path / "report.html"
    altered.write_text(html.replace("<header>", f"<header>{injected}", 1), encoding="utf-8")
    tab = open_report(altered)
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.hit") is None
    assert server.asked == []
    assert any("Content Security Policy" in complaint for complaint in tab.complaints)
    # Without the policy, the same code runs or fetches: the test can fail.
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html, count=1)
    assert open_page != html
    altered.write_text(open_page.replace("<header>", f"<header>{injected}", 1), encoding="utf-8")
    tab.goto(altered.as_uri())
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.hit") == 1 or server.asked


@pytest.mark.parametrize("code", ["fetch('{url}/fetch')", "navigator.sendBeacon('{url}/beacon')",
                                  "new WebSocket('ws{url}/socket'.replace('http', ''))",
                                  "document.forms[0].submit()"])  # fmt: skip
def test_even_a_script_that_ran_could_send_nothing(
    open_report: Any, small: Path, tmp_path: Path, server: Any, code: str
) -> None:
    url = f"http://127.0.0.1:{server.server_port}"
    html = small.read_text(encoding="utf-8")
    form = f'<form action="{url}/form" method="post"></form>'
    altered = tmp_path / "report.html"
    altered.write_text(html.replace("<header>", f"<header>{form}", 1), encoding="utf-8")
    tab = open_report(altered)
    run = f"""() => {{
        try {{ {code.format(url=url)} }} catch {{ window.caught = 1; }}
    }}"""
    tab.evaluate(run)
    tab.wait_for_timeout(200)
    assert server.asked == []


def test_a_report_of_hostile_names_runs_nothing(open_report: Any, hostile_report: Path) -> None:
    tab = open_report(hostile_report)
    for summary in tab.locator("summary:visible").all():
        summary.click()
    assert tab.evaluate("window.hit") is None
    assert tab.complaints == []
    assert tab.locator("section").count() == 14
    assert tab.locator("script:not([type])").count() == 1
    assert tab.locator("img, iframe, [onerror], [onclick]").count() == 0
    table = tab.locator("#runs-table").inner_text()
    assert "window.hit" in table
    assert "<!--<script>" in tab.locator("#requirement-table").inner_text()


def test_a_report_of_hostile_names_runs_nothing_without_the_policy_either(
    open_report: Any, hostile_report: Path, tmp_path: Path
) -> None:
    html = hostile_report.read_text(encoding="utf-8")
    alone = tmp_path / "report.html"
    without = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html, count=1)
    alone.write_text(without, encoding="utf-8")
    tab = open_report(alone)
    assert tab.evaluate("window.hit") is None
    assert tab.complaints == []
