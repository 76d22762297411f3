"""The one error type that the command line prints: what, found, expected, remedy."""

from __future__ import annotations

import errno
import os
import re

#: Maximum characters shown of one part of a message.
MOST_SHOWN = 2_000
#: What was expected, and the remedy, for each system error number.
SYSTEM = {
    errno.ENOSPC: ("room on this disk", "make room, or write to another disk"),
    errno.EDQUOT: ("room in this user's quota", "make room, or write to another disk"),
    errno.EACCES: ("a place that this user may use", "change its permissions, or take another one"),
    errno.EPERM: ("a place that this user may use", "change its permissions, or take another one"),
    errno.EROFS: ("a disk that can be written to", "write to another place"),
    errno.ENAMETOOLONG: ("names of at most 255 bytes", "take a shorter name"),
    errno.EISDIR: ("a file", "name a file, or move the folder away"),
    errno.ENOTDIR: ("a folder", "name a folder, or move the file away"),
    errno.EEXIST: ("a name that is not taken", "take another name, or move what is there away"),
    errno.ENOENT: ("a path that is there", "correct the path"),
    errno.ELOOP: ("a path without links in a circle", "correct the links"),
    errno.EMFILE: ("more open files", "ulimit -n 4096"),
    errno.EIO: ("a disk without faults", "see the kernel's log: dmesg"),
    errno.EFBIG: ("files that may be this long", "ulimit -f unlimited"),
}


def find_system_error(text: str) -> int | None:
    """Returns the number of the system error that Rust or DuckDB wrapped, if it is in `SYSTEM`."""
    if number := re.search(r"\(os error ([0-9]+)\)", text):
        return int(number[1]) if int(number[1]) in SYSTEM else None
    if "fsync failed" in text:  # DuckDB gives no cause for a log that it could not write
        return errno.EIO
    # DuckDB's messages end with the system's; another error may follow.
    return next((one for one in SYSTEM if f": {os.strerror(one)}" in text), None)


class FlowsweepError(Exception):
    """A failure that a user can act on.

    Args:
        what: What went wrong and where: file, line or packet and byte offset.
        found: What was found there.
        expected: What was expected instead.
        remedy: What to do now; a command where there is one.
        exit_code: 2 for usage, unreadable input or failure; 1 when the work was
            done but data was lost or the answer is no.
    """

    def __init__(
        self,
        what: str,
        *,
        found: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
        exit_code: int = 2,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.found = found
        self.expected = expected
        self.remedy = remedy
        self.exit_code = exit_code

    def __str__(self) -> str:
        """Returns the message as printed: one line for each known part."""
        parts = (f"  {name:<9} {text}" for name, text in self._parts())
        return "\n".join([_shorten(self.what), *parts])

    def fitted(self, width: int) -> str:
        """Returns the message for a window of `width` columns.

        A remedy stays on one line: it is often a command to copy.
        """
        import textwrap

        def wrapped(text: str, begin: str, behind: str) -> str:
            fill = textwrap.TextWrapper(width, initial_indent=begin, subsequent_indent=behind,
                                        break_long_words=False, break_on_hyphens=False)  # fmt: skip
            return fill.fill(text)

        lines = [wrapped(_shorten(self.what), "", "  ")]
        for name, text in self._parts():
            begin = f"  {name:<9} "
            lines.append(
                f"{begin}{text}" if name == "remedy" else wrapped(text, begin, " " * len(begin))
            )
        return "\n".join(lines)

    def _parts(self) -> list[tuple[str, str]]:
        named = [(name, getattr(self, name)) for name in ("found", "expected", "remedy")]
        return [(name, _shorten(text)) for name, text in named if text is not None]


def _shorten(text: str) -> str:
    """Cuts the middle out of a long text: names and values from files can have any length."""
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[: MOST_SHOWN // 2]} ... {text[-MOST_SHOWN // 2 :]}"
