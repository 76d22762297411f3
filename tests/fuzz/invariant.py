"""The invariant of every input: an answer or an error with a remedy, soon, in little memory."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from flowsweep import printing
from flowsweep.errors import FlowsweepError

#: CPU time and memory for one input of at most a mebibyte.
MOST_S = 2.0
MOST_MEMORY = 500 << 20
MOST_MESSAGE = 8_200

#: Audit events of changes, and which of their arguments are changed paths.
_CHANGES = {
    "os.mkdir": slice(1), "os.remove": slice(1), "os.rmdir": slice(1), "os.chmod": slice(1),
    "os.chown": slice(1), "os.utime": slice(1), "os.rename": slice(2), "os.link": slice(1, 2),
    "os.symlink": slice(1, 2), "shutil.rmtree": slice(1), "shutil.move": slice(2),
}  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Fault(AssertionError):  # noqa: N818 - a finding, not an error of the fuzzer
    """A violation; `key` is the same for inputs that show the same fault."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key


class Writes:
    """The paths that Python changes while armed; an audit hook cannot be removed."""

    def __init__(self) -> None:
        self.armed = False
        self.paths: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.armed:
            return
        if event == "open":
            _, _, flags = arguments
            if not isinstance(flags, int) or not flags & _WRITES:
                return
            changed = arguments[:1]
        elif event in _CHANGES:
            # Relative to the descriptor of an open folder, as in `shutil.rmtree`.
            if any(isinstance(one, int) and one > 2 for one in arguments[-1:]):
                return
            changed = arguments[_CHANGES[event]]
        else:
            return
        self.paths += [os.fsdecode(one) for one in changed if isinstance(one, str | bytes | Path)]

    def outside(self, folder: Path) -> list[str]:
        """Returns the paths that are not in `folder`."""
        allowed = (f"{folder}{os.sep}", os.devnull)
        changed = (one for one in self.paths if one != str(folder) and "__pycache__" not in one)
        return [one for one in changed if not one.startswith(allowed)]


WRITES = Writes()


def hold(read: Callable[[Path, Path], None], path: Path, output: Path, commands: int = 1) -> bool:
    """Checks the invariant; returns whether `read(path, output)` answered.

    Args:
        read: Does the work of `commands` commands.
        path: The input.
        output: An empty folder.
        commands: Their number; each may take MOST_S.

    Raises:
        Fault: The invariant does not hold.
    """
    before = _begin_memory()
    listed = sorted(os.listdir(path.parent))  # noqa: PTH208 - names alone
    WRITES.paths.clear()
    seconds, refused = _timed(read, path, output)
    most_s = MOST_S * commands
    if seconds > most_s:
        # On a busy machine a single time is not reliable.
        shutil.rmtree(output)
        output.mkdir()
        seconds = min(seconds, _timed(read, path, output)[0])
    if seconds > most_s:
        raise Fault("slow", f"{seconds:.1f} s for {path.stat().st_size} bytes")
    taken = _peak_memory() - before
    if taken > MOST_MEMORY:
        raise Fault("memory", f"{taken >> 20} MB for {path.stat().st_size} bytes")
    if outside := WRITES.outside(output):
        raise Fault("writes", f"outside of the output: {outside[:3]}")
    if sorted(os.listdir(path.parent)) != listed:  # noqa: PTH208
        raise Fault("writes", f"beside the input: {sorted(os.listdir(path.parent))}")  # noqa: PTH208
    if refused is not None:
        check_message(refused, path)
    return refused is None


def _timed(
    read: Callable[[Path, Path], None], path: Path, output: Path
) -> tuple[float, FlowsweepError | None]:
    """Returns CPU seconds for an input, and the error that refused it."""
    refused = None
    temporary, tempfile.tempdir = tempfile.tempdir, str(output)
    named = os.environ.pop("TMPDIR", None)  # goes before `tempdir`
    start = time.process_time()
    WRITES.armed = True
    try:
        read(path, output)
    except FlowsweepError as error:
        refused = error
    except (Fault, KeyboardInterrupt):
        raise
    except BaseException as error:  # a panic of the parser is no Exception
        raise Fault(_place_of(error), f"{type(error).__name__}: {str(error)[:500]}") from error
    finally:
        WRITES.armed = False
        tempfile.tempdir = temporary
        if named is not None:
            os.environ["TMPDIR"] = named
    return time.process_time() - start, refused


def check_message(error: FlowsweepError, path: Path) -> None:
    """Checks that an error names the file, what was found and expected, and the remedy."""
    text = str(error)
    place = _place_of(error)
    lacking = [name for name in ("found", "expected", "remedy") if getattr(error, name) is None]
    if lacking:
        raise Fault(f"{place} {'+'.join(lacking)}", f"the message lacks {lacking}: {text[:300]}")
    if str(path) not in text:
        raise Fault(f"{place} file", f"the message does not name the file: {text[:300]}")
    if len(text) > MOST_MESSAGE:
        raise Fault(f"{place} long", f"a message of {len(text)} characters")
    try:
        printing.visible(text).encode()
    except UnicodeEncodeError as fault:
        raise Fault(f"{place} unicode", str(fault)) from None


def _place_of(error: BaseException) -> str:
    """Returns the innermost line of flowsweep in the traceback, which identifies a fault."""
    place = type(error).__name__
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if f"{os.sep}flowsweep{os.sep}" in name:
            inside = name.rpartition(f"{os.sep}flowsweep{os.sep}")[2]
            place = f"{type(error).__name__} at {inside}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _begin_memory() -> int:
    """Returns the resident bytes, and resets the peak if the kernel allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak_memory()
    return _peak_memory()


def _peak_memory() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) << 10
