"""Makes SIGINT, SIGTERM and SIGHUP raise an exception, so that temporary files are removed.

`scancel` and `kill` send SIGTERM; a terminal that closes sends SIGHUP.
"""

from __future__ import annotations

import atexit
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_holders = 0
_waiting: list[int] = []
_raised: list[int] = []
_cleanings: dict[object, Callable[[], object]] = {}


class Stopped(KeyboardInterrupt):
    """A signal asked the process to stop; no `except Exception` catches it.

    Args:
        number: Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def install() -> None:
    """Makes these signals raise `Stopped` in the main thread; ignored ones stay ignored."""
    for number in STOPPING:
        # `nohup` makes a process ignore SIGHUP; a shell makes its background jobs ignore SIGINT.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def end(stop: KeyboardInterrupt) -> int:
    """Runs the remaining cleanups; returns the exit code of shells: 128 plus the signal."""
    clean()
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


def clean() -> None:
    """Runs the remaining cleanups at the end of the process."""
    with hold():
        while _cleanings:
            _cleanings.popitem()[1]()


def at_end(clean_it: Callable[[], object]) -> None:
    """Registers `clean_it` for the end of the process, with or without a signal."""
    # A command ends by `os._exit`, without atexit, and calls `clean` itself.
    atexit.register(clean)
    _cleanings[clean_it] = clean_it


@contextmanager
def cleaning(clean: Callable[[], object]) -> Iterator[None]:
    """Calls `clean` once, at the end of the `with` block.

    Another signal does not interrupt it. If one arrives just before, `end` calls `clean` instead.
    """
    key = object()
    _cleanings[key] = clean
    try:
        yield
    finally:
        with hold():
            if _cleanings.pop(key, None):
                clean()


@contextmanager
def hold() -> Iterator[None]:
    """Holds signals back in the `with` block, for short work that must not be interrupted."""
    global _holders  # noqa: PLW0603
    _holders += 1
    try:
        yield
    finally:
        _holders -= 1
        _raise_waiting()


@contextmanager
def let_in() -> Iterator[None]:
    """Delivers signals again inside `hold`, while the code waits for something else."""
    global _holders  # noqa: PLW0603
    kept, _holders = _holders, 0
    try:
        _raise_waiting()
        yield
    finally:
        _holders = kept


def _raise_waiting() -> None:
    if _waiting and not _holders:
        number = _waiting[0]
        _waiting.clear()
        raise _stop_of(number)


def find_swallowed() -> Stopped | None:
    """Returns the last signal, in case a library turned `Stopped` into an error of its own."""
    return Stopped(_raised[-1]) if _raised else None


def _stop_of(number: int) -> Stopped:
    _raised.append(number)
    return Stopped(number)


def _stop(number: int, _frame: FrameType | None) -> None:
    if _holders:
        _waiting.append(number)
    else:
        raise _stop_of(number)
