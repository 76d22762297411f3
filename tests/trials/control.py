"""Builds the library that disturbs a call, and writes the file that controls it."""

from __future__ import annotations

import enum
import mmap
import os
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "fault.c"


class Kind(enum.IntEnum):
    """What happens at the selected call, as in fault.c."""

    COUNT = 0
    KILL = 1
    KILL_GROUP = 2
    NO_SPACE = 3
    IO_ERROR = 4
    #: No space at this call, nor at any later call that needs space.
    FULL = 5

    @property
    def label(self) -> str:
        """The name in output and options."""
        return LABELS[self]

    @property
    def kills(self) -> bool:
        """Whether the process is killed."""
        return self in {Kind.KILL, Kind.KILL_GROUP}


LABELS = {
    Kind.COUNT: "count",
    Kind.KILL: "kill",
    Kind.KILL_GROUP: "kill all",
    Kind.NO_SPACE: "ENOSPC",
    Kind.IO_ERROR: "EIO",
    Kind.FULL: "disk full",
}
#: Count, number of the call, kind, whether it was reached; the folder; the call.
_LAYOUT = struct.Struct("=QQII1024s1024s")
#: In a series, every EVERY-th call is tried, too.
EVERY = 20
#: As in fault.c: number of calls whose names and paths are kept, as digests.
MOST_CALLS = 65_536


class Control:
    """Controls all processes that have `environment`."""

    def __init__(self, temporary: Path) -> None:
        library, path = temporary / "fault.so", temporary / "control"
        flags = ["-O1", "-Wall", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, "-o", library, SOURCE, "-ldl"], check=True)
        path.write_bytes(bytes(_LAYOUT.size + 4 * MOST_CALLS))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 0)
        self.environment = os.environ | {"LD_PRELOAD": str(library), "TRIALS_CONTROL": str(path)}

    def arm(self, folder: Path, kind: Kind = Kind.COUNT, at: int = 0) -> None:
        """Counts calls below `folder` from now on, and disturbs call number `at`."""
        _LAYOUT.pack_into(self._shared, 0, 0, at, kind, 0, os.fsencode(folder), b"")

    def disarm(self) -> tuple[int, str]:
        """Returns the number of counted calls, and the disturbed one; empty if there was none."""
        count, _, _, is_hit, _, call = _LAYOUT.unpack_from(self._shared)
        self._shared[: _LAYOUT.size] = bytes(_LAYOUT.size)
        return count, os.fsdecode(call.partition(b"\0")[0]) if is_hit else ""

    def kill_points(self, count: int) -> list[int]:
        """Returns the calls at which a kill may leave other files than at the previous call.

        Kills within the writes of one file, or within the calls in one hidden folder, differ only
        in incomplete files. From such a series this takes the first, the last, and some in
        between.
        """
        if count > MOST_CALLS:
            raise AssertionError(f"{count:,} calls; fault.c keeps {MOST_CALLS:,}")
        digests = struct.unpack_from(f"={count}I", self._shared, _LAYOUT.size)
        around = zip((None, *digests), digests, (*digests[1:], None), strict=False)
        return [
            number
            for number, (before, digest, after) in enumerate(around, 1)
            if digest != before or digest != after or number % EVERY == 0
        ]
