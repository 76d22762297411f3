"""Turns captures into Parquet tables, for `flowsweep parse`, `ingest` and `show`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flowsweep import _parsers
from flowsweep.defaults import BIN_NS, ORDER_WINDOW_NS, ORDER_WINDOW_PACKETS, UDP_TIMEOUT_NS
from flowsweep.errors import SYSTEM, FlowsweepError
from flowsweep.files import capture_names
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep._parsers import Damage, Summary

#: Packets that the kernel and the interface dropped; None if unknown.
Drops = tuple[int | None, int | None]
#: Every table that the parsers write; `packets` only on request.
ALL_TABLES = tuple(_parsers.tables())
TABLES = tuple(name for name in ALL_TABLES if name != "packets")
#: Share of a file that may stay unread without a remedy.
NEGLIGIBLE = 0.01
#: Every system allows this many open files.
FEW_FILES = 100


class CaptureError(FlowsweepError, ValueError):
    """An input is not a capture, or cannot be read."""


class DamagedCaptureError(CaptureError):
    """Reading a capture stopped before its end; the packets before the damage were kept."""

    def __init__(self, damage: Damage) -> None:
        what = "changed while it was read, from" if damage["changed"] else "damaged at"
        place = f"packet {damage['packet']:,}, byte {damage['offset']:,}"
        super().__init__(
            f"{damage['file']}: {what} {place}",
            found=damage["found"],
            expected=damage["expected"],
            remedy=_remedy(damage),
            exit_code=1,
        )
        self.damage = damage


def _remedy(damage: Damage) -> str:
    """Returns a remedy for damage; none is needed where hardly anything was lost."""
    verb = "was" if damage["kept"] == 1 else "were"
    text = f"{counted(damage['kept'], 'packet')} before it {verb} kept"
    if damage["changed"]:
        return f"read it again once nothing writes to it; {text}"
    unread = damage["unread"]
    if unread is None:
        # The rest of a compressed file or a stream has no known size.
        return f"copy or record it again for what comes behind it; {text}"
    size = damage["offset"] + unread
    text += f"; {unread:,} of {counted(size, 'byte')} not read"
    if damage["kept"] and unread <= NEGLIGIBLE * size:
        return f"none needed: {text}"
    return f"copy or record it again; {text}"


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turns failures of the native parser into `CaptureError`."""
    try:
        yield
    except _parsers.ParseError as failure:
        what, found, expected, remedy = failure.args
        number = re.search(r"\(os error ([0-9]+)\)$", found or "")
        if number is not None and expected is None and remedy is None:
            expected, remedy = SYSTEM.get(int(number[1]), (None, None))
        raise CaptureError(what, found=found, expected=expected, remedy=remedy) from None


class Settings(NamedTuple):
    """How captures are read."""

    #: Length of a throughput bin.
    bin_ns: int = BIN_NS
    #: Silence after which a flow that is not TCP ends.
    udp_timeout_ns: int = UDP_TIMEOUT_NS
    #: Packets with a wrong checksum are left out of all flows.
    verify_checksums: bool = False
    #: Span of time in which out-of-order packets are sorted; 0 keeps the order of the file.
    order_window_ns: int = ORDER_WINDOW_NS
    #: Maximum number of packets held back for sorting.
    order_window_packets: int = ORDER_WINDOW_PACKETS
    #: Copies of other packets count as packets.
    keep_duplicates: bool = False
    #: Equal addresses and ports in different VLANs or virtual networks are different connections.
    by_network: bool = False


class Options(NamedTuple):
    """How captures are read and tables are written."""

    settings: Settings = Settings()
    packets: bool = False
    #: Number of threads; 0 for one per core.
    threads: int = 0
    #: Maximum bytes of memory for the parser; None for three quarters of the free memory.
    memory: int | None = None
    #: The process ends after parsing, so memory need not be freed piece by piece.
    process_ends: bool = False
    #: Whether the files are synced to disk before parsing returns.
    synced: bool = True

    @classmethod
    def from_values(cls, **values: Any) -> Options:
        """Makes options from `values`, named like the fields of this class or of `Settings`."""
        own = {name: values.pop(name) for name in cls._fields if name in values}
        return cls(Settings(**values), **own)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""
        return ALL_TABLES if self.packets else TABLES


def parse_tables(files: Sequence[Path], folder: Path, **settings: Any) -> Summary:
    """Writes the tables of one capture into `folder`, which has none; `settings` as `Settings`."""
    options = Options(Settings(**settings), synced=False)
    paths = {table: folder / f"{table}.parquet" for table in TABLES}
    return write_tables(name_paths(files), paths, paths, options)


def write_tables(
    captures: Sequence[tuple[Path, str]],
    paths: Mapping[str, Path],
    places: Mapping[str, Path],
    options: Options,
    progress: Callable[[int, int], None] | None = None,
    *,
    drops: Mapping[str, Drops] | None = None,
) -> Summary:
    """Parses `captures` as one capture into the new files `paths`; a failure leaves no files.

    Args:
        captures: Paths, each with the name that tables and messages show.
        paths: The file of each table, by its name.
        places: The final paths of the files, which errors show.
        options: How captures are read.
        progress: Called now and then with the number of bytes and packets read.
        drops: Drop counters by the shown name of each file; None takes them from the manifests.

    Raises:
        CaptureError: A file is not a capture; the summary names damaged ones.
    """
    notes = [
        ("flowsweep.files", json.dumps([name for _, name in captures])),
        *(
            (f"flowsweep.{name}", str(value).lower())
            for name, value in options.settings._asdict().items()
        ),
    ]
    if len(captures) > FEW_FILES:
        _allow_open_files()
    with readable_errors():
        return _parsers.parse(
            captures,
            {table: (path, show_path(places[table])) for table, path in paths.items()},
            options.settings,
            threads=options.threads or len(os.sched_getaffinity(0)),
            manifests=read_drops(captures) if drops is None else drops,
            notes=notes,
            progress=progress,
            process_ends=options.process_ends,
            synced=options.synced,
            memory=options.memory,
        )


def _allow_open_files() -> None:
    """Raises the limit on open files: captures that overlap in time are open at once."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # "unlimited" may be more than the system allows
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def read_drops(files: Sequence[tuple[Path, str]]) -> dict[str, Drops]:
    """Reads the drop counters (kernel, interface) of captures from their manifests, by shown name.

    The parts of a rotated capture share one manifest, named after the first part. The earliest part
    that is left gets the counters. They are unknown for a later part that is read without it.
    """
    drops: dict[str, Drops] = {}
    earliest: dict[Path, Path] = {}
    given = {path for path, _ in files}
    for path, name in files:
        manifest = capture_names.find_manifest(path) if path.name else None
        if manifest is None:
            continue
        if manifest not in earliest:
            earliest[manifest] = capture_names.find_earliest_part(manifest) or path
        if path == earliest[manifest]:
            from flowsweep.files import manifests

            drops[name] = manifests.drops(manifest)
        else:
            drops[name] = (0, 0) if earliest[manifest] in given else (None, None)
    return drops


def check(paths: Sequence[Path]) -> None:
    """Raises `CaptureError` if a file cannot be opened or does not begin like a capture."""
    with readable_errors():
        _parsers.check(name_paths(paths))


def name_paths(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Returns each path with the name that tables and messages show."""
    return [(path, show_path(path)) for path in paths]


def show_path(path: Path) -> str:
    """Returns a path as text, with escapes for bytes that are not UTF-8."""
    return str(path).encode(errors="backslashreplace").decode()
