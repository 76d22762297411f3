"""Parses the header of a log in Zeek's TSV format: separators, columns and types."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from flowsweep.errors import FlowsweepError

MARK = b"#"
ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})")
#: Zeek's logs have 20 to 100 columns. A table of 50,000 columns would take minutes to write.
MOST_COLUMNS = 1024
#: The most changes of the header in a file, as in joined logs. Each change takes as long as a
#: thousand rows.
MOST_HEADERS = 100


@dataclass(frozen=True)
class Header:
    """The content of the lines that begin with #.

    Attributes:
        path: Zeek's name of the log, such as `conn`.
        fields: Names of the columns.
        types: Zeek's names of the columns' types.
    """

    separator: str = "\t"
    set_separator: str = ","
    empty: str = "(empty)"
    unset: str = "-"
    path: str = ""
    fields: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    columns: dict[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(zip(self.fields, self.types, strict=False)))

    def with_line(self, line: str) -> Header:
        """Returns the header with one more line, which is given without its line end."""
        if line.startswith("#separator"):
            value = line.removeprefix("#separator").removeprefix(" ")
            return Header(separator=ESCAPED.sub(lambda found: chr(int(found[1], 16)), value))
        key, *values = line[1:].split(self.separator or "\t")
        first = values[0] if values else ""
        if key == "fields":
            return replace(self, fields=tuple(values), types=())
        if key == "types":
            return replace(self, types=tuple(values))
        words = {"set_separator": self.set_separator, "empty_field": self.empty,
                 "unset_field": self.unset, "path": self.path}  # fmt: skip
        if key in words:  # the other keys are times: open, close
            words[key] = first
        separated, empty, unset, path = words.values()
        return replace(self, set_separator=separated, empty=empty, unset=unset, path=path)

    @property
    def has_separator(self) -> bool:
        """Whether the separator can separate the values of a line."""
        return len(self.separator.encode()) == 1 and self.separator not in "\r\n\\"

    def check(self, place: str) -> Header:
        """Returns the header, if it describes a log.

        Raises:
            FlowsweepError: It describes none; the message names `place`.
        """
        twice = [name for name, times in Counter(self.fields).items() if times > 1]
        found = None
        if not self.has_separator:
            found = f"the separator {self.separator!r}"
        elif not self.set_separator:
            found = "the set separator ''"
        elif not self.fields or not self.types:
            found = "no #fields" if not self.fields else "no #types"
        elif len(self.fields) != len(self.types):
            found = f"{len(self.fields)} fields and {len(self.types)} types"
        elif twice:
            found = f"the field {twice[0]} twice"
        if found is None:
            refuse_columns(place, len(self.fields))
            return self
        raise FlowsweepError(
            f"{place}: not the header of a Zeek log",
            found=found,
            expected="#separator of one byte, #fields and #types with a type for each",
            remedy="give the log as Zeek wrote it, or as JSON",
        )


def refuse_columns(place: str, many: int) -> None:
    """Raises if a log has too many columns."""
    if many > MOST_COLUMNS:
        raise FlowsweepError(
            f"{place}: more columns than a log can have",
            found=f"{many:,}",
            expected=f"at most {MOST_COLUMNS:,}",
            remedy="see whether it is a log of Zeek, and let Zeek write fewer",
        )


def refuse_headers(place: str, many: int) -> None:
    """Raises if the header changes too often, even for joined logs."""
    if many > MOST_HEADERS:
        raise FlowsweepError(
            f"{place}: more headers than a log can have",
            found=f"more than {MOST_HEADERS} that differ from the one before",
            expected=f"at most {MOST_HEADERS}",
            remedy="give the logs that were joined as files of their own",
        )


def parse_lines(lines: bytes, begin: Header | None = None) -> Header:
    """Parses header lines; `begin` is the header of the lines before them."""
    header = begin or Header()
    # Not `splitlines`: the separator may be a character that it treats as a line end.
    for line in lines.decode(errors="replace").split("\n"):
        header = header.with_line(line)
    return header
