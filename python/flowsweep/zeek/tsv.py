"""Reads logs in Zeek's TSV format, with types from the header.

Escapes, the words for unset and empty values, and set separators are those of Zeek's ASCII writer
(`LogAscii`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from flowsweep._parsers import count
from flowsweep.zeek import kinds
from flowsweep.zeek.header import MARK, Header, parse_lines, refuse_headers


@dataclass
class Faults:
    r"""Counts of the faults in a log.

    Attributes:
        lines: Lines with a wrong number of values, which give no row.
        values: Values of a wrong type for their column, which become null.
        texts: Lines that are not UTF-8; their bytes are kept as Zeek's escapes, such as `\xff`.
        first: The first fault, with its line, for the message.
    """

    lines: int = 0
    values: int = 0
    texts: int = 0
    first: str | None = None

    def line(self, number: int, found: str) -> None:
        """Counts a line that gives no row; line numbers begin at 1."""
        self.lines += 1
        self.first = self.first or f"in line {number} {found}"

    def value(self, number: int, found: str, many: int) -> None:
        """Counts `many` values of a wrong type, the first of them in this line."""
        self.values += many
        self.first = self.first or f"in line {number} {found}"

    def note_lost(
        self, raw: pl.Series, typed: pl.Series, column: tuple[str, str | None], lines: Sequence[int]
    ) -> None:
        """Counts the values that a column lost when it took its type.

        Args:
            raw: The values as in the log.
            typed: The same values with the column's type.
            column: Zeek's names of the column and of its type.
            lines: The number of each value's line.
        """
        lost = (typed.is_null() & raw.is_not_null()).arg_true()
        if lost.len():
            name, kind = column
            example = str(raw[lost[0]])[:60]
            self.value(
                lines[lost[0]], f"a value of {name} that is no {kind}: {example}", lost.len()
            )

    def text(self, number: int) -> None:
        """Counts a line that is not UTF-8."""
        self.texts += 1
        self.first = self.first or f"in line {number} bytes that are no UTF-8"

    def __bool__(self) -> bool:
        return bool(self.lines or self.values or self.texts)


def frames(
    parts: Iterator[bytes], place: str, faults: Faults
) -> Iterator[tuple[Header, pl.DataFrame]]:
    """Yields the rows of a log, in frames of some megabytes, each with its header.

    A log may have several headers, for example if logs were joined.

    Args:
        parts: Blocks of whole lines; the last line may lack its end.
        place: The name of the log in errors.
        faults: Counts the damage.

    Raises:
        FlowsweepError: Rows precede the first header, a header describes no log, or there are too
            many headers.
    """
    header, is_checked, changes = Header(), False, 0
    number = 1
    for part in parts:
        held: list[bytes] = []
        first = number
        between = 0
        for is_header, lines in pieces(part):
            many = count(lines, b"\n")
            number += many
            if not is_header:
                # Empty lines replace header lines, to keep the line numbers.
                held += [b"\n" * between, lines]
                between = 0
                if not is_checked:
                    header, is_checked = header.check(place), True
                continue
            new = parse_lines(lines, header)
            if new == header:
                between += many
                continue
            if held:
                yield header, rows(b"".join(held), header, faults, first)
                changes += 1
                refuse_headers(place, changes)
            header, is_checked = new, False
            held, first, between = [], number, 0
        if held:
            yield header, rows(b"".join(held), header, faults, first)


def pieces(part: bytes) -> Iterator[tuple[bool, bytes]]:
    """Splits lines into runs that are all header lines, or all rows."""
    if not part.startswith(MARK) and not count(part, b"\n" + MARK):
        yield False, part
        return
    at = 0
    while at < len(part):
        if part.startswith(MARK, at):
            end = at
            while part.startswith(MARK, end):
                end = part.find(b"\n", end) + 1 or len(part)
            yield True, part[at:end]
        else:
            # The rows end at the line feed before the next header.
            end = part.find(b"\n" + MARK, at) + 1 or len(part)
            yield False, part[at:end]
        at = end


def rows(lines: bytes, header: Header, faults: Faults, first: int = 1) -> pl.DataFrame:
    """Parses lines of rows; the columns have the types of `kinds.dtype`.

    Args:
        lines: Whole lines without header lines; the last may lack its end.
        header: The header of these lines.
        faults: Counts the damage.
        first: Number of the first line.
    """
    names = [str(number) for number in range(len(header.fields))]  # placeholders for Polars
    numbers: Sequence[int] | None = None
    if not _seem_whole(lines, header):
        lines, numbers = _select_whole(lines, header, faults, first)
    read = {
        name: kinds.READ.get(kind, pl.String)
        for name, kind in zip(names, header.types, strict=True)
    }
    try:
        frame = _read(lines, header, read)
    except pl.exceptions.PolarsError:
        if numbers is None:
            # One line with too many values and another with too few may cancel out in the count.
            lines, numbers = _select_whole(lines, header, faults, first)
        lines = _as_text(lines, faults, numbers)
        texts = _read(lines, header, dict.fromkeys(names, pl.String))
        frame = texts.with_columns(pl.col(name).cast(kind, strict=False)
                                   for name, kind in read.items())  # fmt: skip
        columns = zip(header.fields, header.types, strict=True)
        for raw, typed, column in zip(texts, frame, columns, strict=True):
            faults.note_lost(raw, typed, column, numbers)
    kept = frame.select(
        _convert(pl.col(name), kind, header).alias(field)
        for name, field, kind in zip(names, header.fields, header.types, strict=True)
    )
    for before, after, kind in zip(frame, kept, header.types, strict=True):
        if kind in kinds.CONVERTED and after.null_count() > before.null_count():
            places = numbers or range(first, first + frame.height)
            faults.note_lost(before, after, (after.name, kind), places)
    return _resolve(kept) if count(lines, b"\\x") else kept


def _read(lines: bytes, header: Header, schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    if not lines:
        return pl.DataFrame(schema=schema)
    return pl.read_csv(
        lines,
        has_header=False,
        separator=header.separator,
        quote_char=None,
        null_values=header.unset,
        schema=schema,
    )


def _convert(column: pl.Expr, kind: str, header: Header) -> pl.Expr:
    if (inner := kinds.element(kind)) is not None:
        some = kinds.elements(column, inner, header.set_separator, header.unset)
        none = pl.lit([], dtype=kinds.dtype(kind))
        return pl.when(column != header.empty).then(some).when(column.is_not_null()).then(none)
    if kind not in kinds.READ:
        return (
            pl.when(column != header.empty).then(column).when(column.is_not_null()).then(pl.lit(""))
        )
    return kinds.convert(column, kind)


def _as_text(lines: bytes, faults: Faults, numbers: Sequence[int]) -> bytes:
    """Replaces bytes that are not UTF-8 by Zeek's escapes; notes these lines as faults."""
    try:
        lines.decode()
    except UnicodeDecodeError:
        texts = [line.decode(errors="backslashreplace").encode() for line in lines.split(b"\n")]
        for number, before, line in zip(numbers, lines.split(b"\n"), texts, strict=False):
            if before != line:
                faults.text(number)
        return b"\n".join(texts)
    return lines


def _seem_whole(lines: bytes, header: Header) -> bool:
    """Returns whether there are as many values as fields times lines, and no empty lines."""
    ends = count(lines, b"\n") + (not lines.endswith(b"\n"))
    values = count(lines, header.separator.encode()) + ends
    has_empty = lines.startswith(b"\n") or count(lines, b"\n\n")
    return values == ends * len(header.fields) and not has_empty


def _select_whole(
    lines: bytes, header: Header, faults: Faults, first: int
) -> tuple[bytes, Sequence[int]]:
    """Returns the lines with a value for each field, and their numbers; notes the other lines."""
    separator = header.separator.encode()
    whole, numbers = [], []
    for number, line in enumerate(lines.split(b"\n"), first):
        values = line.count(separator) + 1
        if not line.strip(b"\r"):
            continue
        if values == len(header.fields):
            whole.append(line)
            numbers.append(number)
        else:
            start = line[:60].decode(errors="replace").rstrip()
            faults.line(number, f"{values} values of {len(header.fields)} fields: {start}")
    return b"\n".join(whole), numbers


def _resolve(frame: pl.DataFrame) -> pl.DataFrame:
    """Resolves the escapes in texts and in lists of texts."""
    changed = []
    for name, dtype in frame.schema.items():
        if dtype not in (pl.String, pl.List(pl.String)):
            continue
        is_list = dtype != pl.String
        texts = (frame[name].explode() if is_list else frame[name]).unique().drop_nulls()
        texts = texts.filter(texts.str.contains("\\x", literal=True))
        plain = [kinds.resolve_escapes(text) for text in texts]
        one = pl.element() if is_list else pl.col(name)
        one = one.replace(texts, pl.Series(plain, dtype=pl.String))
        changed.append(pl.col(name).list.eval(one) if is_list else one)
    return frame.with_columns(changed)
