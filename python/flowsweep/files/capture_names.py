"""Names of capture files: suffixes, and the parts of a rotated capture."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

#: `tcpdump -C` appends a number to the suffix of each further file.
_CAPTURE = re.compile(
    r"(?P<stem>.*)\.(pcapng|pcap|cap|dmp)[0-9]*(\.(zst|gz|lz4|bz2|xz))?", re.DOTALL
)
MANIFEST = ".capture.json"
#: The name of a further part of a rotated capture, without its suffixes.
_PART = re.compile(r"(?P<first>.+)(-[0-9]{5}|\.[0-9]+)", re.DOTALL)
_DAY = r"(19|20)[0-9]{2}-?(0[1-9]|1[0-2])-?(0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"([01][0-9]|2[0-3])[-:.]?[0-5][0-9]([-:.]?[0-5][0-9])?"
#: Seconds since 1970, from 2001 to 2033.
_SECONDS = "1[0-9]{9}"
#: The start time at the end of a file's name: from `dumpcap -b`, which also numbers the files
#: (before or after the time), or from `tcpdump -G` with a usual format.
_BEGUN = re.compile(
    rf"(?P<first>.+?)(_[0-9]{{5}})?[-_.]({_DAY}[-_.T]?{_CLOCK}Z?|{_SECONDS})(_[0-9]{{5}})?",
    re.DOTALL,
)


def stem(path: Path) -> str:
    """Returns the name without a capture's suffixes; the whole name of another file."""
    capture = _CAPTURE.fullmatch(path.name)
    return capture["stem"] if capture else path.name


def first_part(name: str) -> str | None:
    """Returns the stem of the first part, if `name` may be the stem of a further part.

    The capture agent numbers parts `<host>-00001.pcap`; `<host>.1.pcap` is read as well.
    """
    part = _PART.fullmatch(name)
    return part["first"] if part else None


def find_manifest(path: Path) -> Path | None:
    """Returns the manifest beside a capture: its own, or that of the first part of its rotation."""
    own = stem(path)
    names = [name for name in (own, first_part(own)) if name]
    paths = [path.with_name(f"{name}{MANIFEST}") for name in names]
    return next((one for one in paths if one.exists()), None)


def find_earliest_part(manifest: Path) -> Path | None:
    """Returns the earliest part that is left of a manifest's capture; a ring removes the first."""
    first = manifest.name.removesuffix(MANIFEST)
    names = {path: stem(path) for path in manifest.parent.iterdir()}
    parts = [path for path, name in names.items() if first in (name, first_part(name))]
    captures = [path for path in parts if names[path] != path.name]
    return min(captures, key=lambda path: (names[path] != first, path.name), default=None)


def host_of(name: str, stems: Container[str]) -> str:
    """Returns the host of a capture, from its stem and those of all captures in the folder.

    A number at the end of a name marks a further part only if the first part exists; otherwise it
    belongs to the host's name. The start time of a file never belongs to it.
    """
    begun = _BEGUN.fullmatch(name)
    if begun:
        return begun["first"]
    first = first_part(name)
    return first if first is not None and first in stems else name
