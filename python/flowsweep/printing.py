r"""Prints text for people: no character of it can be a command to the terminal.

Names, experiment files, run.json and captures come from anyone. `guard` stands between them and
the terminal: it shows a control character as `\x1b`, whoever prints it. Data (`--format json`, csv,
SQL) bypass it by `exact`, and what only this program writes (the progress line, colours) by `raw`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

#: C0 and C1 controls but tab and line end; marks that turn the direction of what follows; line
#: ends of other kinds; halves of characters. U+200E and U+200F alone turn nothing else.
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)


STDOUT = "standard output"


def visible(text: str) -> str:
    r"""The text with every command to a terminal spelled out: ESC as `\x1b`."""
    return _COMMANDS.sub(_spell, text)


def line(text: str) -> str:
    """The same where a text must stay in one line: line ends and tabs are spelled out too."""
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
    """A text stream for people, which passes all text through `visible`.

    Args:
        stream: Where it goes; whether that is a terminal, its encoding and all else are its own.
        name: What errors call it, which know no file.
    """

    def __init__(self, stream: TextIO, name: str) -> None:
        self.stream = stream
        self.name = name

    def write(self, text: str) -> int:
        """Writes the text, with commands to a terminal spelled out."""
        with _name_stream(self.name):
            self.stream.write(visible(text))
        return len(text)

    def flush(self) -> None:
        """Writes what waits."""
        with _name_stream(self.name):
            self.stream.flush()

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes each of them."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard() -> None:
    """Passes all that this process prints from here on through `visible`."""
    # Either is None where the program was started with it closed.
    if sys.stdout is not None and not isinstance(sys.stdout, Guarded):
        sys.stdout = Guarded(sys.stdout, STDOUT)
    if sys.stderr is not None and not isinstance(sys.stderr, Guarded):
        sys.stderr = Guarded(sys.stderr, "standard error")


def raw(stream: TextIO) -> TextIO:
    """The stream without its guard, for commands to the terminal that this program gives itself.

    Nothing that came from elsewhere may be written to it but by `visible`.
    """
    return stream.stream if isinstance(stream, Guarded) else stream


def styled(text: str) -> None:
    """Text to stdout in which the commands to the terminal, colours, are this program's own."""
    if sys.stdout is not None:
        with _name_stream(STDOUT):
            raw(sys.stdout).write(text)


def exact(text: str) -> None:
    """Data to stdout, byte for byte, in UTF-8 whatever the terminal has."""
    if sys.stdout is None:
        return
    stream = raw(sys.stdout)
    buffer = getattr(stream, "buffer", None)
    with _name_stream(STDOUT):
        if buffer is None:  # text alone is taken, as in a notebook
            stream.write(text)
            return
        stream.flush()
        buffer.write(text.encode("utf-8", errors="surrogateescape"))
