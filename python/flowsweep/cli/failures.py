"""Turns every failure of a command into one message on stderr and an exit code.

0 done; 1 done, but the answer is no or data was lost; 2 failed; 128 and more: a signal. No
exception leaves a command: Python's exit code 1 would mean that the command did its work.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable

from flowsweep import extras, printing, signals
from flowsweep.errors import SYSTEM, FlowsweepError, find_system_error

#: If this variable is set, an error also prints its traceback.
TRACEBACK = "FLOWSWEEP_TRACEBACK"
OUT_OF_MEMORY = (
    "out of memory: raise the limit of this process (ulimit -v), or use a machine with more"
)
_NO_MEMORY = (
    "bad allocation",
    "Allocation failure",
    "Cannot allocate memory",
    "failed to map segment",
    "OutOfMemoryException",
    # A thread could not be started.
    "Resource temporarily unavailable",
    "can't start new thread",
    # Polars continues its import without its compiled part.
    "name 'PyDataFrame' is not defined",
)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
#: Maximum characters printed of an exception.
MOST_SHOWN = 300


def status_of(command: Callable[[], int]) -> int:
    """Runs a command, prints its failure, and returns the exit code."""
    status = 0
    try:
        status = command()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe (`flowsweep query ... | head`), which is not an error.
        pass
    except KeyboardInterrupt as stop:
        _tell("stopped")
        status = signals.end(stop)
    except BaseException as failure:  # noqa: BLE001 - a panic of the parser is not an Exception
        # Polars panics if a signal interrupts its import of `datetime`.
        if (swallowed := signals.find_swallowed()) is not None and not isinstance(
            failure, FlowsweepError
        ):
            _tell("stopped")
            status = signals.end(swallowed)
        else:
            status = _report(failure)
    return status


def _report(failure: BaseException) -> int:
    """Prints a failure; returns the exit code."""
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(failure)
    try:
        error = failure if isinstance(failure, FlowsweepError) else _error_of(failure)
        _tell(_format(error))
    except MemoryError:
        # There is no memory left even for the message.
        os.write(2, f"error: {OUT_OF_MEMORY}\n".encode())
        return 2
    return error.exit_code


def _is_in_temporary_folder(text: str) -> bool:
    """Returns whether a message names a file in the folder for temporary files."""
    from flowsweep.files import file_sets  # takes some milliseconds, for a rare case

    return f"{file_sets.temporary_folder()}{os.sep}" in text


def _error_of(failure: BaseException) -> FlowsweepError:
    """Returns the message for an exception that no command expects."""
    if isinstance(failure, ModuleNotFoundError):
        command = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
        if (lack := extras.explain_missing(failure, command)) is not None:
            return lack
    text = " ".join(f"{type(failure).__name__}: {failure}".split())
    # Each library has its own message for a lack of memory.
    if isinstance(failure, MemoryError) or any(words in text for words in _NO_MEMORY):
        return FlowsweepError(OUT_OF_MEMORY)
    if isinstance(failure, OSError) and failure.errno in SYSTEM:
        return _describe_system_error(failure)
    if (number := find_system_error(text)) is not None:
        expected, remedy = SYSTEM[number]
        if number in _NO_ROOM and _is_in_temporary_folder(text):
            remedy = "make room, or set TMPDIR to a folder on another disk"
        what, found = _shorten(text), None
        if place := re.search(r'Could not write file "([^"]+)"', text):
            what, found = f"cannot write {place[1]}", os.strerror(number)
        return FlowsweepError(what, found=found, expected=expected, remedy=remedy)
    return FlowsweepError(
        f"{text[:MOST_SHOWN]}; a fault of flowsweep: please report the command and its input with "
        f"what {TRACEBACK}=1 shows"
    )


def _shorten(text: str) -> str:
    """Keeps the end: DuckDB puts the failed statement first, and place and cause last."""
    return text if len(text) <= MOST_SHOWN else f"... {text[-MOST_SHOWN:]}"


def _describe_system_error(failure: OSError) -> FlowsweepError:
    number = failure.errno or 0
    place = failure.filename2 or failure.filename
    if place == printing.STDOUT:
        return FlowsweepError(f"{place}: {os.strerror(number)}")
    named = "" if place is None else f"{place if isinstance(place, str) else os.fsdecode(place)}: "
    expected, remedy = SYSTEM[number]
    return FlowsweepError(f"{named}{os.strerror(number)}", expected=expected, remedy=remedy)


def _format(error: FlowsweepError) -> str:
    """Returns the whole message, wrapped at words for a terminal."""
    if not sys.stderr.isatty():
        return f"error: {error}"
    import shutil

    error.what = f"error: {error.what}"
    return error.fitted(shutil.get_terminal_size().columns)


def _tell(text: str) -> None:
    """Prints to stderr, which may be closed or full."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
