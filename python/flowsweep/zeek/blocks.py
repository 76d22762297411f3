"""Reads the lines of a log in blocks, with any supported compression.

Zeek writes UTF-8 and ends lines with a line feed. A log that was saved again on Windows may have
a byte order mark, CRLF line ends, or UTF-16.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from flowsweep import _parsers
from flowsweep.errors import FlowsweepError
from flowsweep.parsing import name_paths, readable_errors

BLOCK = 4 << 20
#: A file with longer lines is no log.
LONGEST_LINE = 64 << 20
#: Encodings by the byte order mark at the start of a file.
ENCODINGS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def blocks(path: Path, least: int = BLOCK) -> Iterator[bytes]:
    """Yields blocks of whole lines of at least `least` bytes; the last line may lack its end.

    Raises:
        FlowsweepError: The file cannot be read, is damaged (raised with exit code 1 after all
            lines before the damage), or has a line that is too long.
    """
    ((_, name),) = name_paths([path])
    with readable_errors():
        unpacked = _parsers.Unpacked(path, name)
    held: list[bytes] = []
    size = 0
    end_of_line = None
    for part in _in_utf8(iter(unpacked.part, b"")):
        held.append(part)
        size += len(part)
        if size < least:
            continue
        joined = b"".join(held)
        end = joined.rfind(b"\n") + 1
        if end:
            end_of_line = end_of_line or _find_line_end(joined)
            yield _with_plain_ends(joined[:end], end_of_line)
        elif size > LONGEST_LINE:
            raise FlowsweepError(
                f"{name}: not a log",
                found=f"a line of more than {LONGEST_LINE >> 20} MiB",
                expected="lines, as Zeek writes them",
            )
        held = [joined[end:]]
        size -= end
    if size:
        joined = b"".join(held)
        yield _with_plain_ends(joined, end_of_line or _find_line_end(joined))
    if fault := unpacked.fault():
        raise FlowsweepError(
            f"{name}: damaged",
            found=fault,
            expected="a complete file",
            remedy="copy it again; what came before is kept",
            exit_code=1,
        )


def _in_utf8(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the parts in UTF-8, without the byte order mark."""
    first = next(parts, b"")
    mark = next((mark for mark in ENCODINGS if first.startswith(mark)), b"")
    encoding = ENCODINGS.get(mark, "utf-8")
    whole = chain([first[len(mark) :]], parts)
    if encoding == "utf-8":
        yield from whole
        return
    decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
    for part in whole:
        yield decoder.decode(part).encode()
    yield decoder.decode(b"", final=True).encode()


def _find_line_end(block: bytes) -> bytes:
    """Returns the end of a log's first line, which all its lines share."""
    end = block.find(b"\n")
    return b"\r\n" if end > 0 and block[end - 1 : end] == b"\r" else b"\n"


def _with_plain_ends(block: bytes, end_of_line: bytes) -> bytes:
    return block if end_of_line == b"\n" else block.replace(end_of_line, b"\n")
