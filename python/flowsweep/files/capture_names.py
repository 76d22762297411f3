"""Names of capture files: their suffixes, and the parts of a rotated capture."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

#: With a number behind the container where `tcpdump -C` began a further file.
_CAPTURE = re.compile(
    r"(?P<stem>.*)\.(pcapng|pcap|cap|dmp)[0-9]*(\.(zst|gz|lz4|bz2|xz))?", re.DOTALL
)
#: The name of a further part of a rotated capture, without its suffixes.
_PART = re.compile(r"(?P<first>.+)(-[0-9]{5}|\.[0-9]+)", re.DOTALL)
_DAY = r"(19|20)[0-9]{2}-?[01][0-9]-?[0-3][0-9]"
_CLOCK = r"[0-2][0-9][-:.]?[0-5][0-9]([-:.]?[0-5][0-9])?"
#: Seconds since 1970, of the years 2001 to 2033.
_SECONDS = "1[0-9]{9}"
#: When a file was begun, at the end of its name: of `dumpcap -b`, which numbers the files as well
#: (before the time, or behind it), and of `tcpdump -G` with a usual format.
_BEGUN = re.compile(
    rf"(?P<first>.+?)(_[0-9]{{5}})?[-_.]({_DAY}[-_.T]?{_CLOCK}Z?|{_SECONDS})(_[0-9]{{5}})?",
    re.DOTALL,
)


def stem(path: Path) -> str:
    """The name without the suffixes of a capture; the whole name of another file."""
    capture = _CAPTURE.fullmatch(path.name)
    return capture["stem"] if capture else path.name


def first_part(name: str) -> str | None:
    """The stem of the first part, if `name` may be the stem of a further one.

    The capture agent numbers parts `<host>-00001.pcap`; `<host>.1.pcap` is read as well.
    """
    part = _PART.fullmatch(name)
    return part["first"] if part else None


def host_of(name: str, stems: Container[str]) -> str:
    """The host of a capture by its stem and those of all captures beside it.

    A host whose own name ends in a number is only taken for a part where the first part exists.
    The time at which a file was begun belongs to no host's name.
    """
    begun = _BEGUN.fullmatch(name)
    if begun:
        return begun["first"]
    first = first_part(name)
    return first if first is not None and first in stems else name
