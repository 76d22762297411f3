"""SIGINT, SIGTERM and SIGHUP unwind: on the way out, everything temporary is removed.

`scancel` and `kill` send SIGTERM, a terminal that is closed SIGHUP.
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
    """A signal asked to stop; no `except Exception` catches it.

    Args:
        number: Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def install() -> None:
    """From now on these signals raise `Stopped` in the main thread; ignored ones stay so."""
    for number in STOPPING:
        # `nohup` ignores SIGHUP, and a shell the SIGINT of what it starts in the background.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def end(stop: KeyboardInterrupt) -> int:
    """Runs what is left to clean; returns the exit code, as shells do: 128 plus the signal."""
    clean()
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


def clean() -> None:
    """Runs what is left to clean at the end of the process."""
    with hold():
        while _cleanings:
            _cleanings.popitem()[1]()


def at_end(clean_it: Callable[[], object]) -> None:
    """Registers `clean_it` for the end of the process, by a signal or not."""
    # A command ends without it, and cleans itself.
    atexit.register(clean)
    _cleanings[clean_it] = clean_it


@contextmanager
def cleaning(clean: Callable[[], object]) -> Iterator[None]:
    """Calls `clean` when this is left, and only once.

    Another signal does not interrupt it. Where one comes just before it, `end` makes up for it.
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
    """Holds signals back while this is entered: for short work that must not be interrupted."""
    global _holders  # noqa: PLW0603
    _holders += 1
    try:
        yield
    finally:
        _holders -= 1
        _raise_waiting()


@contextmanager
def let_in() -> Iterator[None]:
    """Lets signals in again within `hold`, while something else is waited for."""
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
    """The signal that asked to stop, where a library turned `Stopped` into a failure of its own."""
    return Stopped(_raised[-1]) if _raised else None


def _stop_of(number: int) -> Stopped:
    _raised.append(number)
    return Stopped(number)


def _stop(number: int, _frame: FrameType | None) -> None:
    if _holders:
        _waiting.append(number)
    else:
        raise _stop_of(number)
