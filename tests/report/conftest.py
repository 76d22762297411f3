"""Experiments that the tests of the report share."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import full_records
import hostile
import pytest
import synthetic

from flowsweep.render import page
from flowsweep.warehouse import Warehouse

#: Makes a folder once for all processes of the session; see `once` in tests/conftest.py.
Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def one_app(once: Once) -> Path:
    """Makes three runs a point, one of them invalid, one capture with drops."""
    plan = synthetic.Plan(
        repetitions=3,
        invalid=("nqueens-rtt_16ms-r2",),
        failed=("nqueens-rate_5Mbit-r1",),
        damaged=(("nqueens-rate_10Mbit-r1", "pc3"),),
    )
    return once("one", lambda folder: synthetic.make(folder, plan))


@pytest.fixture(scope="session")
def one_app_report(one_app: Path, once: Once) -> Path:
    """Writes the report of `one_app` beside its tables."""
    name = one_app.name
    made = once("report", lambda folder: page.write(shutil.copytree(one_app, folder / name)))
    shutil.copytree(made / name, one_app, dirs_exist_ok=True)
    return one_app / "report.html"


@pytest.fixture(scope="session")
def warehouse(one_app: Path) -> Warehouse:
    """Opens the tables of `one_app`; the models are made once for all tests."""
    return Warehouse(one_app, is_anew=True)


@pytest.fixture(scope="session")
def two_apps(once: Once) -> Path:
    """Makes six runs a point, enough for intervals."""
    plan = synthetic.Plan(
        apps=(synthetic.NQUEENS, synthetic.TASKGRAPH),
        rtts_ms=(1, 4, 16, 64),
        rates_mbit_s=(100, 20, 5),
        repetitions=6,
    )
    return once("two", lambda folder: synthetic.make(folder, plan))


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes runs whose applications report all that they can."""
    return full_records.make(tmp_path_factory.mktemp("full"))


@pytest.fixture(scope="session")
def hostile_report(once: Once) -> Path:
    """Writes the report of runs whose every name tries to become markup or a script."""
    made = once("hostile", lambda folder: page.write(hostile.make(folder)))
    return made / f"results {hostile.PATH}" / "report.html"


LIMIT_MS = 180_000  # only what hangs takes longer
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Starts headless Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        # Chromium's own sandbox does not work as root.
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=LIMIT_MS
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def new_window(browser: Any) -> Iterator[Any]:
    """Returns a function that opens an empty window; its `complaints` lists errors and requests."""
    contexts = []

    def make(**options: Any) -> Any:
        context = browser.new_context(**options)
        context.set_default_timeout(LIMIT_MS)
        contexts.append(context)
        tab = context.new_page()
        tab.complaints = []
        tab.on("console", lambda message: tab.complaints.append(message.text))
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:", "blob:", "about:"))
                or tab.complaints.append(request.url)
            ),
        )
        return tab

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def idle_windows() -> dict[str, list[Any]]:
    """Keeps empty windows of earlier tests, by options, as a new one costs half a second."""
    return defaultdict(list)


@pytest.fixture
def open_report(new_window: Any, idle_windows: dict[str, list[Any]]) -> Iterator[Any]:
    """Opens a file in a window that no other page of this test uses."""
    opened: list[tuple[str, Any]] = []

    def open_page(path: Path, **options: Any) -> Any:
        idle = idle_windows[repr(options)]
        tab = idle.pop() if idle else new_window(**options)
        opened.append((repr(options), tab))
        tab.complaints = []
        tab.goto(path.as_uri())
        return tab

    yield open_page
    for options, tab in opened:
        # A window that a test has switched to print would show the next page in print as well.
        if tab.evaluate("matchMedia('print').matches"):
            tab.context.close()
            continue
        tab.evaluate("localStorage.clear()")
        tab.goto("about:blank")
        idle_windows[options].append(tab)
