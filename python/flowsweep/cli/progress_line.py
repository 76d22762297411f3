"""Shows a progress line on stderr while captures are read."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from flowsweep import numbers, printing

#: No progress is shown before this time.
QUIET_S = 1.0


def bytes_of(files: Sequence[Path]) -> int | None:
    """Returns the bytes of all files; None for a stream."""
    try:
        return None if Path("-") in files else sum(path.stat().st_size for path in files)
    except OSError:
        # The parser has the better message.
        return None


def show(total: int | None, at_most: int = 0) -> Callable[[int, int], None] | None:
    """Returns a function that rewrites the line; None if stderr is not a terminal.

    Args:
        total: Bytes that will be read; None if unknown.
        at_most: Bytes that will be read if they turn out to be more than `total`.
    """
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()

    def line(read: int, packets: int) -> None:
        passed = time.monotonic() - start
        if passed < QUIET_S:
            return
        text = f"{packets:,} packets  {numbers.size(read)}"
        if total:
            whole = total if read <= total else max(total, at_most)
            done = min(read, whole)
            left = passed * (whole - done) / done if done else 0
            text += f" of {numbers.size(whole)}  {100 * done / whole:.0f} %  {left:.0f} s left"
        print(f"\r{text}\x1b[K", end="", file=printing.raw(sys.stderr), flush=True)

    return line


def clear() -> None:
    """Removes the line."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=printing.raw(sys.stderr))
