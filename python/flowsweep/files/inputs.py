"""Reads files that people and other programs wrote, as text or JSON, within limits.

Only plain files are read: a device never ends, and a FIFO waits for a writer. Each fault of a
file becomes a `FlowsweepError` that names the file and the place in it.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flowsweep.errors import FlowsweepError

#: The most bytes of a file: so many bytes of numbers are read and checked in a second.
MOST_BYTES = 8 * 2**20
#: The most objects and lists in a file: they take more time per byte than other values.
MOST_OBJECTS = 250_000
#: The deepest nesting of objects and lists.
MOST_DEPTH = 64
#: Bytes at the start and at the end of a program's longer output: only these are kept and searched.
BEGINNING_BYTES, END_BYTES = 65_536, 1 << 20
#: The range of integers that Parquet, DuckDB and other languages can represent.
LEAST_INTEGER, MOST_INTEGER = -(2**63), 2**64 - 1
#: Characters of a found value that are shown.
SHOWN = 60

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)
#: Unpaired surrogates, which UTF-8 cannot encode, and control characters.
_NO_TEXT = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


def read_text(path: Path, expected: str, most: int = MOST_BYTES, remedy: str | None = None) -> str:
    """Returns the whole text of a plain file in UTF-8.

    Args:
        path: The file; links are followed.
        expected: What the file should be, for the message: "an experiment file".
        most: The most bytes that it may have.
        remedy: What to do if it cannot be opened.

    Raises:
        FlowsweepError: The file cannot be read, is too large, not plain, or not UTF-8.
    """
    content = _read(path, expected, most, remedy)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FlowsweepError(
            f"{path}, line {line}: is not text",
            found=f"byte {error.start} is not UTF-8: 0x{content[error.start]:02x}",
            expected=f"{expected} in UTF-8",
            remedy=f"iconv -f ISO-8859-1 -t UTF-8 {path}, if that is how it was written",
        ) from None


def _read(path: Path, expected: str, most: int, remedy: str | None) -> bytes:
    try:
        # Opening some devices has side effects.
        _check_kind(path, os.stat(path).st_mode, expected)  # noqa: PTH116 - of the name as it is
        # Without O_NONBLOCK, open would block on a FIFO that has replaced the file meanwhile.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - of the descriptor
            about = os.fstat(descriptor)
            _check_kind(path, about.st_mode, expected)
            content = stream.read(most + 1) if about.st_size <= most else b""
    except OSError as error:
        raise FlowsweepError(
            f"{path}: cannot be read",
            found=error.strerror or str(error),
            expected=f"{expected}, which this user may read",
            remedy=remedy or f"see its permissions: ls -ld {path}",
        ) from None
    except ValueError as error:  # a NUL in the name
        raise FlowsweepError(
            f"{path}: cannot be read",
            found=str(error),
            expected=expected,
            remedy="correct the name",
        ) from None
    if about.st_size > most or len(content) > most:
        size = max(about.st_size, len(content))
        raise _too_large(path, f"{size:,} bytes", f"{expected} of at most {most:,} bytes")
    return content


def _too_large(path: Path, found: str, expected: str) -> FlowsweepError:
    remedy = "shorten it, if it is the file that was meant"
    return FlowsweepError(f"{path}: too large", found=found, expected=expected, remedy=remedy)


def _check_kind(path: Path, mode: int, expected: str) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((name for test, name in _KINDS if test(mode)), "no plain file")
    raise FlowsweepError(
        f"{path}: is not a file", found=kind, expected=expected, remedy="name a plain file"
    )


def read_object(path: Path, expected: str, example: str) -> tuple[dict[str, Any], str]:
    """Reads a file with one JSON object; returns the object and the file's text.

    Keys are unique, numbers fit into 64 bits, and text can be encoded as UTF-8.

    Args:
        path: The file.
        expected: What the file should be: "the record of a run".
        example: Valid JSON, for the message.

    Raises:
        FlowsweepError: The file is not so; names the line, or the place as `hosts[2].name`.
    """
    text = read_text(path, expected)
    return _object_of(text, path, expected, example), text


def object_text(record: dict[str, Any], path: Path, expected: str, example: str) -> str:
    """Returns the text of a file that `read_object` can read again.

    Raises:
        FlowsweepError: `read_object` would refuse it: it has too many or too large values.
    """
    check_values(path, record)
    text = json.dumps(record, indent=1) + "\n"
    if len(text) > MOST_BYTES:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
    _object_of(text, path, expected, example)
    return text


def _object_of(text: str, path: Path, expected: str, example: str) -> dict[str, Any]:
    """Parses a text as one JSON object; see `read_object`."""
    if (size := len(text.encode())) > MOST_BYTES:
        raise _too_large(path, f"{size:,} bytes", f"{expected} of at most {MOST_BYTES:,} bytes")
    objects, lists = text.count("{"), text.count("[")
    if objects + lists > MOST_OBJECTS:
        found = f"{objects:,} objects and {lists:,} lists"
        raise _too_large(path, found, f"{expected} with at most {MOST_OBJECTS:,}")
    once, no_constant = partial(_refuse_twice, path), partial(_no_constant, path)
    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        raise FlowsweepError(
            f"{path}, line {error.lineno}: this is not JSON",
            found=f"{error.msg} at column {error.colno}",
            expected=example,
            remedy=f"correct line {error.lineno}",
        ) from None
    except RecursionError:
        raise _too_deep(path, "") from None
    except ValueError:  # `int` refuses so many digits
        digits = max(re.findall("[0-9]+", text), key=len)
        line = text.count("\n", 0, text.find(digits)) + 1
        raise FlowsweepError(
            f"{path}, line {line}: a number is too long",
            found=f"{len(digits):,} digits",
            expected=_NUMBERS,
            remedy=f"correct line {line}",
        ) from None
    if not isinstance(value, dict):
        raise FlowsweepError(
            f"{path}: this is not {expected}",
            found=f"a {type(value).__name__}",
            expected=example,
            remedy="write one JSON object, in braces",
        )
    check_values(path, value)
    return value


_NUMBERS = f"numbers that fit into 64 bits: whole ones up to {MOST_INTEGER}, others to 1.8e308"


def _refuse_twice(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        # Readers differ in which of the two values they use.
        found, expected = f"{shorten_value(twice)} stands twice in one object", "each key once"
        raise _fault(path, found, expected, "remove one of the two")
    return made


def _no_constant(path: Path, name: str) -> None:
    raise _fault(path, name, _NUMBERS, "write null where there is no number")


def _fault(path: Path, found: str, expected: str, remedy: str) -> FlowsweepError:
    what = f"{path}: this is not JSON that can be used"
    return FlowsweepError(what, found=found, expected=expected, remedy=remedy)


def check_values(path: Path | str, record: Any) -> None:
    """Checks that a table can store all numbers and texts of a JSON value, and its depth.

    Args:
        path: The value's file, for the message.
        record: An object or a list.

    Raises:
        FlowsweepError: A value cannot be stored; names its place, as `hosts[2].name`.
    """
    pending: list[tuple[Any, tuple[Any, ...]]] = [(record, ())]
    while pending:
        value, place = pending.pop()
        if isinstance(value, dict | list):
            if len(place) >= MOST_DEPTH:
                raise _too_deep(path, place_of(place))
            items: Iterator[tuple[Any, Any]] = (
                iter(value.items()) if isinstance(value, dict) else enumerate(value)
            )
            for key, one in items:
                kind = type(one)
                # The place is only built for wrong values, because building it takes time.
                if kind is str or isinstance(key, str):
                    _check_text(path, place, key, one)
                if kind is float and not math.isfinite(one):
                    raise _wrong_number(path, place, key, "more than a number can be")
                if kind is int and not LEAST_INTEGER <= one <= MOST_INTEGER:
                    raise _wrong_number(path, place, key, f"{one.bit_length()} bits")
                if kind is dict or kind is list:
                    pending.append((one, (*place, key)))


def _check_text(path: Path | str, place: tuple[Any, ...], key: Any, value: Any) -> None:
    for text in (key, value):
        if isinstance(text, str) and not text.isascii() and _NO_TEXT.search(text):
            raise FlowsweepError(
                f"{path}: {place_of((*place, key))}: half of a character",
                found=shorten_value(text),
                expected="text that UTF-8 can write",
                remedy="correct the escape: \\ud800 to \\udfff stand in pairs only",
            )


def _wrong_number(path: Path | str, place: tuple[Any, ...], key: Any, found: str) -> FlowsweepError:
    return FlowsweepError(
        f"{path}: {place_of((*place, key))}: a number is too large",
        found=found,
        expected=_NUMBERS,
        remedy="write it as text, in quotes, if its digits count",
    )


def _too_deep(path: Path | str, place: str) -> FlowsweepError:
    return FlowsweepError(
        f"{path}: {place[:SHOWN]}{': ' if place else ''}nested too deeply",
        found=f"more than {MOST_DEPTH} objects and lists within each other",
        expected=f"at most {MOST_DEPTH}",
        remedy="write it with fewer levels",
    )


def place_of(parts: Sequence[Any]) -> str:
    """Returns the place of a value, as `hosts[2].name`, from its keys and indices."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    text = text.removeprefix(".")
    return text if len(text) <= 2 * SHOWN else f"{text[:SHOWN]}...{text[-SHOWN:]}"


def shorten_value(value: object) -> str:
    """Shortens a found value, of any type, for a message."""
    try:
        text = json.dumps(value, default=repr)
    except (ValueError, RecursionError):  # too many digits, a cycle, or too deep
        text = f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def has_control(text: str) -> bool:
    """Returns whether a text contains a control character, except line ends and tabs."""
    return _CONTROL.search(text) is not None
