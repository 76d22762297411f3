"""Fixtures for all tests: the checkout, its commands, and the abilities of this machine."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import forks
import pytest

# A shell that starts the tests in the background, or nohup, ignores these signals, and processes
# that the tests start would inherit that.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGTERM, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)
# pytest-xdist sets it for its workers, and commands would fit their output to it.
os.environ.pop("COLUMNS", None)
ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SLEEP_S = 0.005
# Above these values a machine counts as disturbed. A quiet one with two cores and a testbed up has
# 2 to 8 ms, 2 to 11 % and 0 to 0.1 %. Four ranks that compute wait for cores in 24 to 47 % of the
# time, so they are measured again, too.
LATE_WAKING_S = 0.010
WAITING_SHARE = 0.20
STOLEN_SHARE = 0.01
# Longest wait for a disturbance to end before another try.
WAIT_S = 30.0
# With this share of the cores stolen in every try, a measurement says nothing about the program.
UNUSABLE_SHARE = 0.10


#: Folders whose tests share the testbed of this machine, start a cluster, or have networks of their
#: own, by the line in which they run one after another. They mostly wait, so each line runs beside
#: other tests, the longest line first.
TURNS = {
    "testbed": "testbed", "workflow": "testbed", "workloads": "testbed", "cluster": "cluster",
    "capture": "laboratory", "emulator": "laboratory",
}  # fmt: skip
#: Files of these folders that need no testbed, as they analyse existing captures. They are in no
#: line, because that of the testbed is the longest by far.
WITHOUT_TESTBED = (
    "tests/workflow/test_captured.py",
    "tests/workflow/test_names.py",
    "tests/workflow/test_conventions.py",
    "tests/workflow/test_container.py",
    "tests/workflow/test_logs.py",
)
#: The slowest files, begun right after the lines: at the end, each would keep only one core busy.
LONGEST = (
    "tests/runs/test_watch.py",
    "tests/report/test_adds_up.py",
    "tests/report/test_sentences.py",
    "tests/report/test_browser.py",
    "tests/report/test_facts.py",
    "tests/report/test_policy.py",
    "tests/report/test_facts_damaged.py",
    "tests/report/test_live.py",
    "tests/report/test_page.py",
)


def _line_of(path: str) -> str:
    """Returns the group of tests that one process runs: a line of turns, or a file."""
    _, folder, *_ = Path(path).parts
    return path if path in WITHOUT_TESTBED else TURNS.get(folder, path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that measure, which run alone, and moves the longest tests to the front."""
    for item in items:
        # Also finds tests that use a fixture which measures for several tests.
        if "measurement" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.measured)
        if item.nodeid.startswith(WITHOUT_TESTBED):
            assert "namespaces" not in item.fixturenames, f"{item.nodeid}: not without a testbed"
    order = [*dict.fromkeys(TURNS.values()), *LONGEST, *WITHOUT_TESTBED[:2]]
    places = {name: place for place, name in enumerate(order)}
    items.sort(key=lambda item: places.get(_line_of(item.nodeid.partition("::")[0]), len(order)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives each line of turns, and each other file, to one process.

    The groups of pytest-xdist 3.8 do nothing in pytest 9.2, which keeps names of tests elsewhere.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Lines(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _line_of(nodeid.partition("::")[0])

    return Lines(config, log)


class Disturbance:
    """CPU time that the machine withheld within a `with` block, by the kernel and by a sleeper.

    `waiting`: share of the time in which something had to wait for a core; `stolen`: share of the
    cores' time that went to other virtual machines; `late_s`: the latest waking of a thread that
    sleeps 5 ms at a time.
    """

    def __enter__(self) -> Self:
        self._before = self._counters()
        self.late_s = 0.0
        self._over = threading.Event()
        self._sleeper = threading.Thread(target=self._sleep)
        self._sleeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._sleeper.join()
        seconds, waited, whole, stolen = (
            after - before for before, after in zip(self._before, self._counters(), strict=True)
        )
        self.waiting = waited / seconds
        self.stolen = stolen / max(1, whole)

    def _sleep(self) -> None:
        while not self._over.is_set():
            due = time.monotonic() + SLEEP_S
            time.sleep(SLEEP_S)
            self.late_s = max(self.late_s, time.monotonic() - due)

    @staticmethod
    def _counters() -> tuple[float, float, int, int]:
        """Returns the time and, since boot, seconds waited for cores, ticks and stolen ticks."""
        pressure = Path("/proc/pressure/cpu")
        waited = 0
        if pressure.exists():
            waited = int(pressure.read_text().splitlines()[0].rpartition("total=")[2])
        ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return time.monotonic(), waited / 1e6, sum(ticks), ticks[7]

    def __bool__(self) -> bool:
        return (
            self.late_s > LATE_WAKING_S
            or self.waiting > WAITING_SHARE
            or self.stolen > STOLEN_SHARE
        )

    def __str__(self) -> str:
        return (
            f"something waited for a core in {self.waiting:.0%} of the time, {self.stolen:.1%} of "
            f"the cores were stolen, and a sleeper woke {1e3 * self.late_s:.1f} ms late"
        )


class Measurement:
    """A measurement that depends on time: repeated while the machine is disturbed."""

    def __init__(self, measure: Callable[[], Any]) -> None:
        self._measure = measure
        self._next()

    def _next(self) -> None:
        with Disturbance() as self.disturbance:
            self.value = self._measure()

    def holds(self, check: Callable[[Any], None], tries: int = 4) -> None:
        """Checks the value, and up to `tries` values in all while the machine is disturbed.

        `check` asserts what must hold; if no value passes, the error lists all failures. If other
        virtual machines took a tenth of the cores in every try, the test is skipped.
        """
        failures, stolen = [], []
        while True:
            try:
                check(self.value)
            except AssertionError as error:
                failures.append(f"{error}\nmeanwhile {self.disturbance}")
                stolen.append(self.disturbance.stolen)
            else:
                return
            if len(failures) == tries and min(stolen) >= UNUSABLE_SHARE:
                pytest.skip("no time can be measured here: " + "\n".join(failures))
            if len(failures) == tries or not self.disturbance:
                raise AssertionError("\n".join(failures))
            self._wait()
            self._next()

    @staticmethod
    def _wait() -> None:
        """Waits for the disturbance to end, but no longer than `WAIT_S`."""
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            with Disturbance() as disturbance:
                time.sleep(WAIT_S / 10)
            if not disturbance:
                return


#: Longer than any wait of a test takes, even on a busy machine.
PATIENCE_S = 120.0


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Returns once `holds()` is true; fails after `PATIENCE_S`, naming `what` it waited for."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"waited {PATIENCE_S:.0f} s in vain: {what}")
        time.sleep(SLEEP_S)


@pytest.fixture(scope="session")
def until() -> Callable[[Callable[[], bool], str], None]:
    """Returns a function that waits for a condition, up to `PATIENCE_S`."""
    return wait_until


@pytest.fixture(scope="session")
def measurement() -> type[Measurement]:
    """Returns the class for measurements that depend on time."""
    return Measurement


@functools.cache
def _namespaces_fault() -> str | None:
    """Returns why network namespaces cannot be made here, or None."""
    if shutil.which("unshare") is None:
        return "no `unshare`"
    result = subprocess.run(
        ["unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--mount", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stderr.strip() or "unshare failed" if result.returncode else None


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips the test, with the reason, where network namespaces cannot be made."""
    fault = _namespaces_fault()
    if fault is not None:
        pytest.skip(f"no network namespaces here: {fault}")


@pytest.fixture(scope="session")
def passable() -> Callable[[Path], None]:
    """Lets every user enter a test's folder and pytest's folders above it."""

    def allow(folder: Path) -> None:
        for above in [folder, *folder.parents]:
            if above == Path(tempfile.gettempdir()):
                return
            above.chmod(above.stat().st_mode | 0o011)

    return allow


@pytest.fixture(scope="session")
def root() -> Path:
    """Returns the root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def command():
    """Runs a program of .venv/bin and returns what it printed and its exit code."""

    def run(name: str, *arguments: object, **options) -> subprocess.CompletedProcess[str]:
        program = BIN / name
        assert program.exists(), f"{program} is missing: run `make build`"
        if name in forks.MODULES and options.keys() <= {"cwd"}:
            return forks.run(name, *arguments, **options)
        return subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            **options,
        )

    return run


@pytest.fixture(scope="session")
def once(request, tmp_path_factory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Makes a folder in the first process of this session that asks for it; each gets a copy."""
    base = tmp_path_factory.getbasetemp()
    session = base.parent if hasattr(request.config, "workerinput") else base

    def folder(name: str, make: Callable[[Path], object]) -> Path:
        made, copy = session / f"once-{name}", tmp_path_factory.mktemp(name)
        with (session / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (made / "whole").exists():
                shutil.rmtree(made, ignore_errors=True)
                make(made / name)
                (made / "whole").touch()
        return Path(shutil.copytree(made / name, copy / name, symlinks=True))

    return folder


@pytest.fixture(scope="session")
def captured_demo(command, root, once) -> Path:
    """Returns the results of the captured demo, analysed once; needs no namespaces."""

    def analyse(folder: Path) -> None:
        folder.mkdir(parents=True)
        result = command(
            "snakemake",
            *("--snakefile", root / "Snakefile"),
            *("--configfile", root / "workflows/experiments/captured/demo.yaml"),
            cwd=folder,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        (folder / "notebooks").mkdir()
        (folder / "workflows").symlink_to(root / "workflows")
        runs = root / "workflows/experiments/captured/demo/runs"
        (folder / "results/demo/runs").symlink_to(runs)

    return once("captured", analyse) / "results/demo"
