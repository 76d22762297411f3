"""The library that disturbs a call, and the file by which it is steered."""

from __future__ import annotations

import enum
import mmap
import os
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "fault.c"


class Kind(enum.IntEnum):
    """What happens at the call that is reached, as in fault.c."""

    COUNT = 0
    KILL = 1
    KILL_GROUP = 2
    NO_SPACE = 3
    IO_ERROR = 4
    #: No space there, nor at any later call that needs room.
    FULL = 5

    @property
    def label(self) -> str:
        """As it is printed, and asked for."""
        return LABELS[self]

    @property
    def kills(self) -> bool:
        """Whether the process is gone."""
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
#: Of a series every so many are tried, too.
EVERY = 20
#: As in fault.c: calls whose names and paths are kept, as a digest each.
MOST_CALLS = 65_536


class Control:
    """Steers all processes that have `environment`."""

    def __init__(self, temporary: Path) -> None:
        library, path = temporary / "fault.so", temporary / "control"
        flags = ["-O1", "-Wall", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, "-o", library, SOURCE, "-ldl"], check=True)
        path.write_bytes(bytes(_LAYOUT.size + 4 * MOST_CALLS))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 0)
        self.environment = os.environ | {"LD_PRELOAD": str(library), "TRIALS_CONTROL": str(path)}

    def arm(self, folder: Path, kind: Kind = Kind.COUNT, at: int = 0) -> None:
        """From now on, calls below `folder` count, and the one of number `at` is disturbed."""
        _LAYOUT.pack_into(self._shared, 0, 0, at, kind, 0, os.fsencode(folder), b"")

    def disarm(self) -> tuple[int, str]:
        """The calls that were counted, and the one that was disturbed; empty if none was."""
        count, _, _, is_hit, _, call = _LAYOUT.unpack_from(self._shared)
        self._shared[: _LAYOUT.size] = bytes(_LAYOUT.size)
        return count, os.fsdecode(call.partition(b"\0")[0]) if is_hit else ""

    def kill_points(self, count: int) -> list[int]:
        """Numbers of the calls at which a kill may leave other files than at the call before.

        A kill within the writes of one file, or within the calls in one hidden folder, differs
        only in what is not whole anyway. Of such a series these are the first, the last, and some
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
