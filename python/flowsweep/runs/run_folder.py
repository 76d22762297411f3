"""The files of one run's folder: which of them are captures or logs, and of which host.

Everybody who asks what was recorded in a run asks here: `ingest`, the workflow, and the drop
counters beside the parts of a rotated capture.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from pathlib import Path

from flowsweep.zeek import is_log

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


def captures_by_host(run_dir: Path) -> dict[str, list[Path]]:
    """The captures of a run by host; the parts of a rotated capture belong to one host."""
    captures = [path for path in sorted(run_dir.iterdir()) if _is_capture(path)]
    stems = {stem(path) for path in captures}
    hosts: dict[str, list[Path]] = {}
    for path in captures:
        hosts.setdefault(host_of(stem(path), stems), []).append(path)
    return {host: sorted(paths) for host, paths in sorted(hosts.items())}


def _is_capture(path: Path) -> bool:
    is_named = stem(path) not in ("", path.name) and not path.name.startswith(".")
    return is_named and path.is_file()


def logs_by_host(run_dir: Path) -> dict[str, list[Path]]:
    """Zeek's logs of a run by host."""
    if not any(is_log(path) or path.is_dir() for path in run_dir.iterdir()):
        return {}
    from flowsweep.zeek import hosts

    return hosts.logs_by_host(run_dir)


def recorded_files(run_dir: Path) -> dict[str, list[Path]]:
    """What was recorded of a run by host, sorted: captures, and Zeek's logs behind them."""
    found: dict[str, list[Path]] = {}
    groups: Iterable[dict[str, list[Path]]] = (captures_by_host(run_dir), logs_by_host(run_dir))
    for group in groups:
        for host, files in group.items():
            found.setdefault(host, []).extend(files)
    return dict(sorted(found.items()))
