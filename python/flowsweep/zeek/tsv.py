"""Logs in Zeek's TSV format to frames: the header says the types.

A value's escapes, the words for unset and for empty, and how sets are separated are those of Zeek's
ASCII writer (`LogAscii`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from flowsweep.zeek import kinds
from flowsweep.zeek.header import MARK, Header, of_lines


@dataclass
class Faults:
    """What a log holds that is not as its header says; nothing of it is lost without a word.

    Attributes:
        lines: Lines with another number of values than there are fields: they have no row.
        values: Values that are none of their column's type: null in their row.
        first: What was found first, for the message.
    """

    lines: int = 0
    values: int = 0
    first: str | None = None
    places: list[str] = field(default_factory=list)

    def line(self, found: str) -> None:
        """One more line without a row."""
        self.lines += 1
        self.first = self.first or found

    def value(self, name: str, kind: str, many: int) -> None:
        """More values of a column that are none of its type."""
        self.values += many
        self.first = self.first or f"values of {name} that are no {kind}"


def frames(
    parts: Iterator[bytes], place: str, faults: Faults
) -> Iterator[tuple[Header, pl.DataFrame]]:
    """The rows of a log, in frames of some megabytes, each with the header that it has.

    A log may have several headers, as where logs were joined.

    Args:
        parts: Blocks of whole lines; the last line may lack its end.
        place: What the log is called in errors.
        faults: Where damage is counted.

    Raises:
        FlowsweepError: Rows come before a header, or a header describes no log.
    """
    header, is_checked = Header(), False
    for part in parts:
        for is_header, lines in _pieces(part):
            if is_header:
                text = lines.decode(errors="replace").splitlines()
                header, is_checked = of_lines(text, header), False
                continue
            if not is_checked:
                header, is_checked = header.check(place), True
            yield header, rows(lines, header, faults)


def _pieces(part: bytes) -> Iterator[tuple[bool, bytes]]:
    """Runs of lines that are all of a header, or all rows."""
    at = 0
    while at < len(part):
        if part.startswith(MARK, at):
            end = at
            while part.startswith(MARK, end):
                end = part.find(b"\n", end) + 1 or len(part)
            yield True, part[at:end]
        else:
            # The end of the line before begins a header.
            end = part.find(b"\n" + MARK, at) + 1 or len(part)
            yield False, part[at:end]
        at = end


def rows(lines: bytes, header: Header, faults: Faults) -> pl.DataFrame:
    """Lines without those of a header as rows, columns as `kinds.dtype` has them."""
    names = [str(number) for number in range(len(header.fields))]  # as polars wants them: any
    lines = _with_all_values(lines, header, faults)
    read = {
        name: kinds.READ.get(kind, pl.String)
        for name, kind in zip(names, header.types, strict=True)
    }
    try:
        frame = _read(lines, header, read)
    except pl.exceptions.PolarsError:
        # A line with too many values and one with too few may be right in sum.
        lines = _lines_with_all_values(lines, header, faults)
        texts = _read(lines, header, dict.fromkeys(names, pl.String))
        frame = texts.with_columns(pl.col(name).cast(kind, strict=False)
                                   for name, kind in read.items())  # fmt: skip
        for name, kind in zip(names, header.types, strict=True):
            if lost := frame[name].null_count() - texts[name].null_count():
                faults.value(header.fields[int(name)], kind, lost)
    kept = frame.select(
        _kept(pl.col(name), kind, header).alias(field)
        for name, field, kind in zip(names, header.fields, header.types, strict=True)
    )
    return _resolved(kept) if b"\\x" in lines else kept


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


def _kept(column: pl.Expr, kind: str, header: Header) -> pl.Expr:
    if (inner := kinds.element(kind)) is not None:
        some = kinds.elements(column, inner, header.set_separator, header.unset)
        none = pl.lit([], dtype=kinds.dtype(kind))
        return pl.when(column != header.empty).then(some).when(column.is_not_null()).then(none)
    if kind not in kinds.READ:
        return (
            pl.when(column != header.empty).then(column).when(column.is_not_null()).then(pl.lit(""))
        )
    return kinds.kept(column, kind)


def _with_all_values(lines: bytes, header: Header, faults: Faults) -> bytes:
    """The lines, without those that have not a value for each field if there seem to be any."""
    ends = lines.count(b"\n") + (not lines.endswith(b"\n"))
    values = lines.count(header.separator.encode()) + ends
    if values == ends * len(header.fields) and b"\n\n" not in lines:
        return lines
    return _lines_with_all_values(lines, header, faults)


def _lines_with_all_values(lines: bytes, header: Header, faults: Faults) -> bytes:
    """The lines that have a value for each field; of the others, how many there are is noted."""
    separator = header.separator.encode()
    whole = []
    for line in lines.splitlines(keepends=True):
        values = line.count(separator) + 1
        if values == len(header.fields) and line.strip(b"\r\n"):
            whole.append(line)
        elif line.strip(b"\r\n"):
            start = line[:60].decode(errors="replace").rstrip()
            faults.line(f"{values} values of {len(header.fields)} in: {start}")
    return b"".join(whole)


def _resolved(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts, and those in lists, without escapes."""
    changed = []
    for name, dtype in frame.schema.items():
        if dtype not in (pl.String, pl.List(pl.String)):
            continue
        is_list = dtype != pl.String
        texts = (frame[name].explode() if is_list else frame[name]).unique().drop_nulls()
        texts = texts.filter(texts.str.contains("\\x", literal=True))
        plain = [kinds.plain(text) for text in texts]
        one = pl.element() if is_list else pl.col(name)
        one = one.replace(texts, pl.Series(plain, dtype=pl.String))
        changed.append(pl.col(name).list.eval(one) if is_list else one)
    return frame.with_columns(changed)
