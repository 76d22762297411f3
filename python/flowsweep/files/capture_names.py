"""Names of capture files: their suffixes, and the parts of a rotated capture."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

CONTAINERS = ("pcapng", "pcap", "cap")
COMPRESSIONS = (".zst", ".gz", ".lz4", ".bz2", ".xz", "")
#: Longest first, so that `pc1.pcap.zst` is of host pc1.
SUFFIXES = tuple(f".{container}{packed}" for container in CONTAINERS for packed in COMPRESSIONS)
#: The name of a further part of a rotated capture, without its suffixes.
_PART = re.compile(r"(?P<first>.+)(-[0-9]{5}|\.[0-9]+)")


def stem(path: Path) -> str:
    """The name without the suffixes of a capture; the whole name of another file."""
    suffix = next((one for one in SUFFIXES if path.name.endswith(one)), "")
    return path.name.removesuffix(suffix)


def first_part(name: str) -> str | None:
    """The stem of the first part, if `name` may be the stem of a further one.

    The capture agent numbers parts `<host>-00001.pcap`; `<host>.1.pcap` is read as well.
    """
    part = _PART.fullmatch(name)
    return part["first"] if part else None


def host_of(name: str, stems: Container[str]) -> str:
    """The host of a capture by its stem and those of all captures beside it.

    A host whose own name ends in a number is only taken for a part where the first part exists.
    """
    first = first_part(name)
    return first if first is not None and first in stems else name
