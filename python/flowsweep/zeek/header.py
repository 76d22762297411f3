"""The header of a log in Zeek's TSV format: how values are separated, what the columns are."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from flowsweep.errors import FlowsweepError

MARK = b"#"


@dataclass(frozen=True)
class Header:
    """What the lines that begin with # say.

    Attributes:
        path: Zeek's name of the log, such as `conn`.
        fields: Names of the columns.
        types: Zeek's name of the type of each.
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
        """The header with one more of its lines, without its end."""
        if line.startswith("#separator "):
            return Header(separator=codecs.decode(line[11:], "unicode_escape"))
        key, *values = line[1:].split(self.separator)
        first = values[0] if values else ""
        if key == "fields":
            return replace(self, fields=tuple(values), types=())
        if key == "types":
            return replace(self, types=tuple(values))
        words = {"set_separator": self.set_separator, "empty_field": self.empty,
                 "unset_field": self.unset, "path": self.path}  # fmt: skip
        if key in words:  # others are times: open, close
            words[key] = first
        separated, empty, unset, path = words.values()
        return replace(self, set_separator=separated, empty=empty, unset=unset, path=path)

    def check(self, place: str) -> Header:
        """The header, if it describes a log.

        Raises:
            FlowsweepError: It does not, with the place that was given.
        """
        twice = [name for name, times in Counter(self.fields).items() if times > 1]
        found = None
        if not self.fields or not self.types:
            found = "no #fields" if not self.fields else "no #types"
        elif len(self.fields) != len(self.types):
            found = f"{len(self.fields)} fields and {len(self.types)} types"
        elif twice:
            found = f"the field {twice[0]} twice"
        elif len(self.separator.encode()) != 1:
            found = f"the separator {self.separator!r}"
        if found is None:
            return self
        raise FlowsweepError(
            f"{place}: not the header of a Zeek log",
            found=found,
            expected="#separator of one octet, #fields and #types with a type for each",
            remedy="give the log as Zeek wrote it, or as JSON",
        )


def of_lines(lines: Iterable[str], begin: Header | None = None) -> Header:
    """The header that these lines are."""
    header = begin or Header()
    for line in lines:
        header = header.with_line(line)
    return header
