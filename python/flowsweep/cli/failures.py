"""Whatever goes wrong in a command, to one message on stderr and an exit code.

0 done; 1 done, but the answer is no or data was lost; 2 failed; 128 and more: a signal. Nothing
else leaves a command: exit code 1 of an uncaught exception would say that it did its work.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable

from flowsweep import printing, signals
from flowsweep.errors import FlowsweepError

#: With it an error that no command expects shows where it arose.
TRACEBACK = "FLOWSWEEP_TRACEBACK"
#: What would have been right, and what to do, by what the system says.
_SYSTEM = {
    errno.ENOSPC: ("room on this disk", "make room, or write to another disk"),
    errno.EDQUOT: ("room in this user's quota", "make room, or write to another disk"),
    errno.EACCES: ("a place that this user may use", "change its permissions, or take another one"),
    errno.EPERM: ("a place that this user may use", "change its permissions, or take another one"),
    errno.EROFS: ("a disk that can be written to", "write to another place"),
    errno.ENAMETOOLONG: ("names of at most 255 bytes", "take a shorter name"),
    errno.EISDIR: ("a file", "name a file, or move the folder away"),
    errno.ENOTDIR: ("a folder", "name a folder, or move the file away"),
    errno.EEXIST: ("a name that is not taken", "take another name, or move what is there away"),
    errno.ENOENT: ("a path that is there", "correct the path"),
    errno.ELOOP: ("a path without links in a circle", "correct the links"),
    errno.EMFILE: ("more open files", "ulimit -n 4096"),
    errno.EIO: ("a disk without faults", "see the kernel's log: dmesg"),
}


def status_of(command: Callable[[], int]) -> int:
    """Runs a command; tells what goes wrong, and returns the exit code."""
    status = 0
    try:
        status = command()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`flowsweep query ... | head`): no error.
        pass
    except KeyboardInterrupt as stop:
        _tell("stopped")
        status = signals.end(stop)
    except BaseException as failure:  # noqa: BLE001 - a panic of the parser is no Exception
        status = _failed(failure)
    return status


def _failed(failure: BaseException) -> int:
    """Tells a failure; the exit code."""
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(failure)
    try:
        error = failure if isinstance(failure, FlowsweepError) else _error_of(failure)
        _tell(_shown(error))
    except MemoryError:
        # Not even for the message.
        os.write(2, b"error: out of memory\n")
        return 2
    return error.exit_code


def _error_of(failure: BaseException) -> FlowsweepError:
    """An exception that no command expects, as a message."""
    if isinstance(failure, MemoryError):
        return FlowsweepError(
            "out of memory",
            expected="more memory than this process may have",
            remedy="raise its limit (ulimit -v), or use a machine with more",
        )
    if isinstance(failure, OSError) and failure.errno in _SYSTEM:
        return _system(failure)
    what = " ".join(f"{type(failure).__name__}: {failure}".split())[:300]
    return FlowsweepError(
        f"{what}; a fault of flowsweep: please report the command and its input with what "
        f"{TRACEBACK}=1 shows"
    )


def _system(failure: OSError) -> FlowsweepError:
    number = failure.errno or 0
    place = failure.filename2 or failure.filename
    if place == printing.STDOUT:
        return FlowsweepError(f"{place}: {os.strerror(number)}")
    named = "" if place is None else f"{place if isinstance(place, str) else os.fsdecode(place)}: "
    expected, remedy = _SYSTEM[number]
    return FlowsweepError(f"{named}{os.strerror(number)}", expected=expected, remedy=remedy)


def _shown(error: FlowsweepError) -> str:
    """The whole message; in a terminal no word of it is broken."""
    if not sys.stderr.isatty():
        return f"error: {error}"
    import shutil

    error.what = f"error: {error.what}"
    return error.fitted(shutil.get_terminal_size().columns)


def _tell(text: str) -> None:
    """Prints to stderr; where that is closed or full there is nobody to tell."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
