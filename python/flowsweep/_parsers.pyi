"""The native part of flowsweep: turns packet captures into Arrow streams and Parquet files."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from flowsweep.parsing import Options, Settings

__version__: str

class ParseError(Exception):
    """A failure of the parser.

    `args` are (what, found, expected, remedy); each of the last three may be None.
    """

class Damage(TypedDict):
    """The place where reading a file stopped because no further packet could be found."""

    file: str
    packet: int
    offset: int
    found: str
    expected: str
    kept: int
    unread: int | None
    changed: bool

class Summary(TypedDict):
    """Counts and damage from `parse`."""

    packets: int
    undecoded: int
    bad_checksums: int
    connections: int
    files: list[tuple[str, int]]
    damage: list[Damage]

class PathCounts(TypedDict):
    """Packets from one host to another."""

    sender: str
    receiver: str
    #: Counts by the name of the fate.
    fates: dict[str, int]
    reordered: int
    retransmissions: int
    negative_delays: int
    unknown_delays: int

class ClockFound(TypedDict):
    """A host's clock relative to the reference's, between two clock steps."""

    host: str
    reference: str
    #: At the start of this time; None if unknown.
    offset_ns: int | None
    offset_error_ns: int | None
    drift_ppm: float | None
    method: str

class TranslationFound(TypedDict):
    """An address that a router translates (NAT)."""

    #: The host whose capture has it.
    host: str
    seen: str
    #: The address that its owner uses.
    own: str

class MatchSummary(TypedDict):
    """Counts and results of `match_captures`."""

    #: By host.
    records: dict[str, int]
    without_ip: dict[str, int]
    outside: int
    paths: list[PathCounts]
    #: In order of hosts and times.
    clocks: list[ClockFound]
    #: In order of hosts and addresses.
    translations: list[TranslationFound]
    #: Hosts whose captures go back in time without a clock step that other captures confirm.
    out_of_order: list[str]
    damage: list[Damage]

class Unpacked:
    """The plain bytes of a file, unpacked if it is compressed.

    Raises:
        ParseError: The file cannot be read.
    """

    def __init__(self, path: Path, name: str) -> None: ...
    def part(self) -> bytes:
        """Returns the next part; empty at the end."""

    def fault(self) -> str | None:
        """Returns why reading stopped before the end of the file, or None."""

    @property
    def consumed(self) -> int:
        """Bytes of the stored file that have been read so far."""

def count(data: bytes, pattern: bytes) -> int:
    """Counts a pattern of one or two bytes in `data`; occurrences may overlap."""

def tables() -> list[str]:
    """Returns the names of all tables of a capture."""

def matched_tables() -> list[str]:
    """Returns the names of the tables of matched captures."""

def protocol(number: int) -> str:
    """Returns the name of an IP protocol number, as in the table `flows`."""

def columns(table_name: str) -> list[tuple[str, str, bool, str, str, str]]:
    """Returns the columns of a table as (name, type, nullable, unit, meaning, source)."""

def check(files: Sequence[tuple[Path, str]]) -> None:
    """Raises `ParseError` if a file cannot be opened or is not a capture."""

def schema(table_name: str) -> object:
    """Returns the schema of a table: an Arrow C schema in a capsule."""

def stream(
    files: Sequence[tuple[Path, str]],
    table_name: str,
    settings: Settings,
    *,
    on_damage: Callable[[list[Damage]], None],
) -> object:
    """Returns one table of `files`, (path, name) of the parts of a capture, as an Arrow C stream.

    If a file is damaged, the reading thread calls `on_damage` at the end of the stream.
    """

def held(capsule: object, descriptor: int) -> object:
    """Returns the stream of a capsule, which closes the descriptor when it is released.

    Args:
        capsule: The capsule of an Arrow C stream; empty afterwards.
        descriptor: The descriptor of an open file, which the stream now owns.
    """

def parse(
    files: Sequence[tuple[Path, str]],
    places: Mapping[str, tuple[Path, str]],
    settings: Settings | Options,
    *,
    threads: int,
    manifests: Mapping[str, tuple[int | None, int | None]],
    notes: Sequence[tuple[str, str]],
    progress: Callable[[int, int], None] | None,
    process_ends: bool = False,
    synced: bool = True,
    memory: int | None = None,
) -> Summary:
    """Parses `files` as one capture.

    Args:
        files: Path and displayed name of each file; the path `-` is standard input.
        places: New Parquet file of each wanted table, and its name in errors. A failure leaves
            no files.
        settings: How captures are read.
        threads: Number of threads; it does not change the tables.
        manifests: Packets dropped by the kernel and by the interface, by file name.
        notes: Key-value metadata for every file.
        progress: Called about twenty times a second with bytes read and packets counted.
        process_ends: Whether the process ends soon, so that memory need not be freed.
        synced: Whether the files are synced to disk when this returns.
        memory: Maximum bytes of memory; None for three quarters of what the machine, the control
            group and the limits of the process leave.

    Raises:
        ParseError: An input cannot be read, a table cannot be written, or the memory does not
            suffice.
    """

def match_captures(
    hosts: Sequence[
        tuple[
            str,
            Sequence[tuple[Path, str]],
            Sequence[str],
            int,
            tuple[int, int] | None,
            int | None,
        ]
    ],
    readings: Sequence[tuple[int, int, int, tuple[int, int]]],
    places: Mapping[str, tuple[Path, str]],
    *,
    window_ns: int,
    window_packets: int,
    notes: Sequence[tuple[str, str]],
    progress: Callable[[int, int], None] | None,
) -> MatchSummary:
    """Finds each packet in the captures of the hosts that sent and received it.

    Args:
        hosts: Name, captures as (path, name), addresses, known number of dropped packets, start
            and end of the capture in ns since 1970, or None, and the number of the running
            kernel, or None: hosts with the same kernel have the same clock.
        readings: Clock readings: the indexes of two hosts, a time on the second host's clock, and
            bounds on how far that clock is ahead.
        places: New Parquet file of each table of `matched_tables`, and its name in errors. A
            failure leaves no files.
        window_ns: How long a packet waits for its other sighting.
        window_packets: How many packets wait at most.
        notes: Key-value metadata for every file.
        progress: Called about twenty times a second with bytes read and packets counted.

    Raises:
        ParseError: A capture cannot be read, or a table cannot be written.
    """
