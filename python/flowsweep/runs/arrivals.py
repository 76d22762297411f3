"""Lists the captures that agents write into a folder: host, start, and whether each is complete."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowsweep import _parsers
from flowsweep.errors import FlowsweepError
from flowsweep.files import capture_names, inputs, manifests, names
from flowsweep.files.capture_names import MANIFEST
from flowsweep.files.outputs import PART
from flowsweep.parsing import Drops, Settings, check, name_paths
from flowsweep.runs.run_folder import is_capture

#: The folder into which the capture service's unit moves the files of its previous start.
BEFORE = "before"
#: Path, size and modification time: cached results about a file are valid until these change.
_State = tuple[Path, int, int]


@dataclass(frozen=True)
class Counters:
    """The losses so far of a capture that may still run.

    Attributes:
        start: When the capture started: its counters begin at 0 then.
        drops: Packets that were dropped since then.
        series: The part of its files' names before their numbers.
        removed: Files that its ring has removed since then.
    """

    start: str
    drops: Drops
    series: str
    removed: int


@dataclass(frozen=True)
class Arrival:
    """One capture file.

    Attributes:
        host: The name of its folder; for a file directly in the captures' folder, its series.
        path: The file.
        size: Its size in bytes.
        first_ns: When its first packet was captured; None if it has no packet yet.
        is_whole: Whether its agent has finished writing it.
        counters: The counters of its manifest, if it has one.
    """

    host: str
    path: Path
    size: int
    first_ns: int | None
    is_whole: bool
    counters: Counters | None

    @property
    def is_cut(self) -> bool:
        """Whether its agent was stopped before it finished the file."""
        return self.path.name.endswith(PART)


class Folder:
    """A folder of captures that is scanned repeatedly.

    Args:
        path: The folder.
        quiet_s: A file that no manifest lists is complete after so many seconds without a write.
        say: Called once with each error of a file.

    Attributes:
        passed_over: Files that are captures by their content, but not by their name.
    """

    def __init__(self, path: Path, quiet_s: float, say: Callable[[FlowsweepError], None]) -> None:
        self.path, self._quiet_s, self._say = path, quiet_s, say
        self._first: dict[_State, int | None] = {}
        self._manifests: dict[_State, dict[str, Any] | None] = {}
        self._refused: set[_State] = set()
        self.passed_over: set[Path] = set()

    def arrivals(self) -> list[Arrival]:
        """Returns the captures in the folder, in the order of their first packets.

        Raises:
            FlowsweepError: There is no such folder.
        """
        if not self.path.is_dir():
            raise FlowsweepError(
                f"{self.path}: no such folder",
                expected="the folder into which flowsweep-capture writes",
            )
        shown = self._files()
        stems: dict[Path, set[str]] = {}
        for path in shown:
            stems.setdefault(path.parent, set()).add(_stem(path))
        # Forget files that are gone.
        known, self._first = self._first, {}
        found: list[Arrival] = []
        for path in shown:
            try:
                state = _state(path)
            except FileNotFoundError:  # the ring removed it, or it was renamed
                continue
            if state in self._refused or path.name.endswith(MANIFEST):
                continue
            if _stem(path) == path.name:
                self._refused.add(state)
                if path not in self.passed_over and is_capture(path):
                    self.passed_over.add(path)
                continue
            try:
                found += self._arrival(path, state, stems[path.parent], known)
            except FlowsweepError as error:
                if path.exists():
                    self._refused.add(state)
                    self._say(error)
        return sorted(found, key=lambda one: (one.first_ns or 0, one.host, one.path))

    def _files(self) -> list[Path]:
        """Returns all files that are not hidden, sorted; skips folders that vanish meanwhile."""
        found: list[Path] = []
        for above, folders, files in os.walk(self.path):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found += [Path(above, name) for name in files if not name.startswith(".")]
        return sorted(found)

    def _arrival(
        self, path: Path, state: _State, stems: set[str], known: dict[_State, int | None]
    ) -> Iterator[Arrival]:
        if not path.is_file():
            return
        above = [part for part in path.relative_to(self.path).parts[:-1] if part != BEFORE]
        series = capture_names.host_of(_stem(path), stems)
        host = names.check(above[0] if above else series, "a host", path)
        self._first[state] = known[state] if state in known else first_packet(path)
        manifest = path.with_name(f"{series}{MANIFEST}")
        about = self._manifest(manifest)
        yield Arrival(
            host, path, state[1], self._first[state],
            is_whole=self._is_whole(path, state[1], manifest, about),
            counters=_counters(manifest, about),
        )  # fmt: skip

    def _is_whole(
        self, path: Path, size: int, manifest: Path, about: dict[str, Any] | None
    ) -> bool:
        if path.name.endswith(PART):
            # A living agent replaces its manifest every second, also without packets.
            return self._is_quiet(path) and (about is None or self._is_quiet(manifest))
        listed = (about or {}).get("files")
        is_listed = isinstance(listed, list) and any(
            isinstance(one, dict) and one.get("file") == path.name and one.get("bytes") == size
            for one in listed
        )
        return is_listed or self._is_quiet(path)

    def _is_quiet(self, path: Path) -> bool:
        try:
            return time.time() - path.stat().st_mtime >= self._quiet_s
        except FileNotFoundError:
            return False

    def _manifest(self, path: Path) -> dict[str, Any] | None:
        """Returns a manifest; None if it is missing, or unreadable, which is reported."""
        try:
            state = _state(path)
        except FileNotFoundError:
            return None
        if state not in self._manifests:
            self._manifests = {key: held for key, held in self._manifests.items() if key[0] != path}
            self._manifests[state] = None
            try:
                about, _ = inputs.read_object(path, "a manifest", manifests.EXAMPLE)
                manifests.drops_in(about, path)
                self._manifests[state] = about
            except FlowsweepError as error:
                self._say(error)
        return self._manifests[state]


def in_order(captures: Sequence[Path]) -> Sequence[Path]:
    """Sorts the parts of one capture by their first packets: names may not show the order.

    Raises:
        CaptureError: One of several parts is no capture, or cannot be read.
    """
    if len(captures) == 1:
        return captures
    return sorted(captures, key=lambda path: first_packet(path) or 0)


def first_packet(path: Path) -> int | None:
    """Returns the time of a capture's first packet, ns since 1970; None if there is none.

    Packets whose time is outside the range of 64-bit nanoseconds are skipped.

    Raises:
        CaptureError: The file is no capture, or cannot be read.
    """
    import duckdb

    check([path])
    with duckdb.connect() as connection:
        connection.register("packets", _Packets(path))
        query = """
            select epoch_ns(time::timestamp_ns)
            from packets
            where isfinite(time::timestamp_ns)
            limit 1
        """
        try:
            rows = connection.sql(query).fetchall()
        except duckdb.Error as error:
            # `check` raises a clearer error if the file was renamed or removed meanwhile.
            check([path])
            raise FlowsweepError(
                f"{path}: its first packet cannot be read",
                found=str(error).splitlines()[0],
                expected="a capture",
            ) from error
    return int(rows[0][0]) if rows else None


class _Packets:
    """The packets of one file, which may be truncated because its agent still writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return _parsers.stream(
            name_paths([self._path]),
            "packets",
            # Only the first packet is needed, so that the parser need not reorder packets.
            Settings(order_window_ns=0, keep_duplicates=True),
            on_damage=lambda _: None,
        )

    def __arrow_c_schema__(self) -> object:
        return _parsers.schema("packets")


def _counters(manifest: Path, about: dict[str, Any] | None) -> Counters | None:
    if about is None or not isinstance(about.get("start"), str):
        return None
    drops, removed = manifests.drops_in(about, manifest), about.get("removed_files")
    series = manifest.name.removesuffix(MANIFEST)
    return Counters(about["start"], drops, series, removed if type(removed) is int else 0)


def _stem(path: Path) -> str:
    """Returns the name without the suffixes of a capture or manifest; else the whole name."""
    name = path.name.removesuffix(PART)
    if name.endswith(MANIFEST):
        return name.removesuffix(MANIFEST)
    stem = capture_names.stem(path.with_name(name))
    return path.name if stem in ("", name) else stem


def _state(path: Path) -> _State:
    about = path.stat()
    return path, about.st_size, about.st_mtime_ns
