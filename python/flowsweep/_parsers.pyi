"""The native half of flowsweep: packet captures to Arrow streams and Parquet files."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from flowsweep.parsing import Options, Settings

__version__: str

class ParseError(Exception):
    """What the parser could not do.

    `args` are (what, found, expected, remedy); each of the last three may be None.
    """

class Damage(TypedDict):
    """Where reading one file stopped because no further packet could be found."""

    file: str
    packet: int
    offset: int
    found: str
    expected: str
    kept: int
    unread: int | None
    changed: bool

class Summary(TypedDict):
    """What `parse` read."""

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
    #: By the name of their fate.
    fates: dict[str, int]
    reordered: int
    retransmissions: int
    negative_delays: int
    unknown_delays: int

class ClockFound(TypedDict):
    """A host's clock against that of the reference, from one step of a clock to the next."""

    host: str
    reference: str
    #: At its beginning; None where it is not known.
    offset_ns: int | None
    offset_error_ns: int | None
    drift_ppm: float | None
    method: str

class TranslationFound(TypedDict):
    """An address that a router translates (NAT)."""

    #: Whose capture has it.
    host: str
    seen: str
    #: The address that its host has for itself.
    own: str

class MatchSummary(TypedDict):
    """What `match_captures` read and found."""

    #: By host.
    records: dict[str, int]
    without_ip: dict[str, int]
    outside: int
    paths: list[PathCounts]
    #: In order of hosts and times.
    clocks: list[ClockFound]
    #: In order of hosts and addresses.
    translations: list[TranslationFound]
    #: Hosts whose captures go back in time, although no other one shows that their clocks were set.
    out_of_order: list[str]
    damage: list[Damage]

class Unpacked:
    """The plain bytes of a file, unpacked if it is compressed.

    Raises:
        ParseError: The file cannot be read.
    """

    def __init__(self, path: Path, name: str) -> None: ...
    def part(self) -> bytes:
        """The next part; empty at the end."""

    def fault(self) -> str | None:
        """Why the file ended before its end, if it did."""

    @property
    def consumed(self) -> int:
        """Bytes of the file as it is stored that were read so far."""

def count(octets: bytes, pattern: bytes) -> int:
    """How often a pattern of one or two bytes stands in `octets`; occurrences may overlap."""

def tables() -> list[str]:
    """Names of all tables of a capture."""

def matched_tables() -> list[str]:
    """Names of the tables that several captures of one run make together."""

def protocol(number: int) -> str:
    """Name of an IP protocol number, as the table `flows` has it."""

def columns(table_name: str) -> list[tuple[str, str, bool, str, str, str]]:
    """Columns of a table as (name, type, nullable, unit, meaning, source)."""

def check(files: Sequence[tuple[Path, str]]) -> None:
    """Raises `ParseError` where one of the files cannot be opened or is no capture."""

def schema(table_name: str) -> object:
    """The schema of a table: an Arrow C schema in a capsule."""

def stream(
    files: Sequence[tuple[Path, str]],
    table_name: str,
    settings: Settings,
    *,
    on_damage: Callable[[list[Damage]], None],
) -> object:
    """One table of `files`, a list of (path, name) that are one capture: an Arrow C stream.

    At its end `on_damage` is called where something was damaged, in the thread that reads it.
    """

def held(capsule: object, descriptor: int) -> object:
    """The stream of a capsule, which closes the descriptor as soon as it is released.

    Args:
        capsule: Of an Arrow C stream; empty afterwards.
        descriptor: Of an open file; it is not the caller's any more.
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
    """Parses `files`, a list of (path, name), as one capture.

    Args:
        files: Path and displayed name of each file; the path `-` is the standard input.
        places: New Parquet file of each wanted table, and what errors call it. After a failure
            there is none.
        settings: How they are read.
        threads: Threads that share the work; the tables do not depend on it.
        manifests: Packets dropped by the kernel and by the interface, by file name.
        notes: Key-value metadata for every file.
        progress: Called about twenty times a second with bytes read and packets counted.
        process_ends: Whether memory may be left to the end of the process, which is soon.
        synced: Whether the files are safe on the disk when this returns.
        memory: Bytes that it may take; None for three quarters of what the machine, the control
            group and the limits of the process leave.

    Raises:
        ParseError: An input cannot be read, a table cannot be written, or it would take more
            memory.
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
        hosts: Name, captures as (path, name), addresses, packets that its capture is known to
            have dropped, times in ns since 1970 at which it began and ended, or None, and the
            number of its running kernel, or None: the same kernel has the same clock.
        readings: What was measured of clocks: the numbers of two hosts, a time by the clock of the
            second, and how far that is ahead, at least and at most.
        places: New Parquet file of each table of `matched_tables`, and what errors call it. After
            a failure there is none.
        window_ns: How long a packet waits for its other sighting.
        window_packets: How many wait at most.
        notes: Key-value metadata for every file.
        progress: Called about twenty times a second with bytes read and packets counted.

    Raises:
        ParseError: A capture cannot be read, or a table cannot be written.
    """
