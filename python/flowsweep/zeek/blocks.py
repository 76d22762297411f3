"""The lines of a log in blocks, however it is compressed.

Zeek writes UTF-8 and ends lines with a line feed. Windows, where a log was looked at and saved,
may have put a byte order mark before it, ended the lines otherwise, or made it UTF-16.
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
#: What has longer lines is no log.
LONGEST_LINE = 64 << 20
#: What a mark at the start of a file says of its characters.
ENCODINGS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def blocks(path: Path, least: int = BLOCK) -> Iterator[bytes]:
    """Blocks of whole lines, of `least` bytes or more; the last line may lack its end.

    Raises:
        FlowsweepError: The file cannot be read, is damaged (raised after all rows before, with
            exit code 1), or is no text in lines.
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
    """The parts without the mark that says how their characters are written, all as UTF-8."""
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
    """How the first line of a log ends, and so all of them."""
    end = block.find(b"\n")
    return b"\r\n" if end > 0 and block[end - 1 : end] == b"\r" else b"\n"


def _with_plain_ends(block: bytes, end_of_line: bytes) -> bytes:
    return block if end_of_line == b"\n" else block.replace(end_of_line, b"\n")
