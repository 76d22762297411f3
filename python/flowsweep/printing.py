r"""Prints text for people: no character of it can be a command to the terminal.

Names, experiment files, run.json and captures come from anyone. `guard` protects the terminal: it
shows a control character as `\x1b`, whichever code prints it. Data (`--format json`, csv, SQL)
bypass it through `exact`, and this program's own commands (progress line, colours) through `raw`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

#: C0 and C1 controls except tab and line feed; marks that change the direction of the text after
#: them; other line ends; surrogates. U+200E and U+200F are left out: they do not turn other text.
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)


STDOUT = "standard output"


def visible(text: str) -> str:
    r"""Returns the text with every terminal command spelled out: ESC as `\x1b`."""
    return _COMMANDS.sub(_spell, text)


def line(text: str) -> str:
    """Does the same for a text that must stay on one line: spells out line ends and tabs too."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _spell(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


@contextmanager
def _name_stream(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = error.filename or name
        raise


class Guarded:
    """A text stream for people that passes all text through `visible`.

    Args:
        stream: The destination; other attributes, such as `isatty` and `encoding`, are its own.
        name: Shown in errors that have no file name.
    """

    def __init__(self, stream: TextIO, name: str) -> None:
        self.stream = stream
        self.name = name

    def write(self, text: str) -> int:
        """Writes the text, with terminal commands spelled out."""
        with _name_stream(self.name):
            self.stream.write(visible(text))
        return len(text)

    def flush(self) -> None:
        """Flushes the stream."""
        with _name_stream(self.name):
            self.stream.flush()

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard() -> None:
    """Passes everything that this process prints from now on through `visible`."""
    # A stream is None if the program was started with it closed.
    if sys.stdout is not None and not isinstance(sys.stdout, Guarded):
        sys.stdout = Guarded(sys.stdout, STDOUT)
    if sys.stderr is not None and not isinstance(sys.stderr, Guarded):
        sys.stderr = Guarded(sys.stderr, "standard error")


def raw(stream: TextIO) -> TextIO:
    """Returns the stream without its guard, for this program's own terminal commands.

    Any other text must pass through `visible` first.
    """
    return stream.stream if isinstance(stream, Guarded) else stream


def styled(text: str) -> None:
    """Writes text to stdout whose only terminal commands are this program's own colours."""
    if sys.stdout is not None:
        with _name_stream(STDOUT):
            raw(sys.stdout).write(text)


def exact(text: str) -> None:
    """Writes data to stdout unchanged, in UTF-8 whatever the terminal's encoding."""
    if sys.stdout is None:
        return
    stream = raw(sys.stdout)
    buffer = getattr(stream, "buffer", None)
    with _name_stream(STDOUT):
        if buffer is None:  # a stream for text only, as in a notebook
            stream.write(text)
            return
        stream.flush()
        buffer.write(text.encode("utf-8", errors="surrogateescape"))
