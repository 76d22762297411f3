"""What the figures need of each run, aggregated once and kept in results/<experiment>/facts.

A fact is a query of reports/facts; its rows for a run depend only on that run's tables and record.
A warehouse that reads some of the runs computes their facts and writes them to
facts/<fact>/<part>-<SQL>.parquet: a part contains the rows of these runs. facts/parts.json lists
the runs of each part and the signatures of their files. If a run's files differ from it, all facts
of the run are recomputed; if a fact's SQL differs, that fact of all runs. Small parts are joined,
so that few files are opened.

The folder is replaced as a whole (`file_sets`): the new one contains the new files and hard links
to the unchanged ones. No file in it ever changes, and a reader always sees the parts of one list.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import duckdb

from flowsweep.errors import FlowsweepError
from flowsweep.files import file_sets, outputs, parquet_files, staging
from flowsweep.files.locks import folder_locked, tell
from flowsweep.files.owned import FACTS
from flowsweep.warehouse import parts as parts_file
from flowsweep.warehouse.parts import PARTS, Part, PartList
from flowsweep.warehouse.signatures import Inputs

#: The most runs that are aggregated at once, and the most bytes of their tables.
BATCH_RUNS, BATCH_BYTES = 256, 24_000_000
#: Parts are in one class if the logarithms to this base of their numbers of runs have the same
#: integer part. A class with more than `CLASS_PARTS` parts is joined into one part.
CLASS_BASE, CLASS_PARTS = 8, 8
#: Attempts to complete the facts while another process keeps replacing them.
TRIES = 100

#: Writes facts of some runs: names of facts, the runs, the path of each fact's file.
Make = Callable[[Sequence[str], Inputs, Callable[[str], Path]], None]
#: Writes the rows of a query to a file.
Copy = Callable[[str, Path], None]


class Kept:
    """The facts of one experiment on disk.

    Args:
        directory: results/<experiment>.
        digests: The digest of each fact's SQL and of all that it reads.
        make: See `Make`.
        copy: See `Copy`.
    """

    def __init__(self, directory: Path, digests: Mapping[str, str], make: Make, copy: Copy) -> None:
        self._directory = directory
        self._folder = directory / FACTS
        #: The folder of the files: the current one, or the one that will replace it.
        self._at = self._folder
        self._digests = dict(digests)
        self._make, self._copy = make, copy
        self._parts: list[Part] = []
        self._state = ""
        #: Facts that every part has.
        self._held: set[str] = set()
        #: Files that were found whole.
        self._whole: set[Path] = set()
        self._is_told = False

    def query(self, fact: str) -> str | None:
        """Returns a query over the rows of a fact; None if there are no runs."""
        return self._rows(fact, self._parts) if self._parts else None

    @contextmanager
    def reading(
        self, needed: Collection[str], state: str, wanted: Callable[[], Inputs]
    ) -> Iterator[bool]:
        """Computes missing facts of all runs, and locks the facts against writers in the block.

        Args:
            needed: The facts that must exist; others are computed when needed.
            state: The state of the tables: if it is unchanged, `wanted` is not called.
            wanted: Returns the runs and the signatures that their facts must match.

        Yields:
            Whether the facts are kept; false if this user cannot store them there.
        """
        tries = 0 if self._folder.is_symlink() else TRIES
        while tries and os.access(self._directory, os.R_OK | os.X_OK):
            with suppress(OSError, FlowsweepError):
                staging.settle(self._directory, tell)
            with folder_locked(self._directory, shared=True):
                self._read()
                if self._state == state and self._held >= {*needed}:
                    yield True
                    return
            try:
                tries -= self._update(needed, state, wanted())
            except OSError:  # read only, or full
                break
            except FlowsweepError as error:
                self._warn(error)
                break
        self._parts = []
        yield False

    def _warn(self, error: FlowsweepError) -> None:
        """Says once what is in the way; a folder that this user may only read is no fault."""
        if not self._is_told and not isinstance(error.__cause__, OSError):
            tell(f"note: facts are not kept, and each report computes them: {error}")
        self._is_told = True

    def _update(self, needed: Collection[str], state: str, wanted: Inputs) -> bool:
        """Adds the facts of one more batch of runs to the folder; returns whether all are there.

        After an interruption, the next process continues with the next batch.
        """
        with file_sets.file_set(
            self._directory, FACTS, [FACTS], is_alone=False, place=staging.inside
        ) as root:
            self._read()
            files = self._files()
            self._at = root / FACTS
            self._at.mkdir()
            for fact in self._held | {*needed}:
                (self._at / fact).mkdir()
            for file in files:
                _link(file, self._at / file.relative_to(self._folder))
            self._parts = [
                left for part in self._parts if (left := self._without(part, wanted.signatures))
            ]
            if missing := sorted({*needed} - self._held):
                for part in self._parts:
                    self._fill(part, missing, wanted)
            self._held |= {*missing}
            there = {run for part in self._parts for run in part.runs}
            lacking = [run for run in wanted.signatures if run not in there]
            batches = list(_batches(lacking, wanted.sizes))
            for runs in batches[:1]:
                part = Part(os.urandom(8).hex(), {run: wanted.signatures[run] for run in runs})
                self._fill(part, sorted(self._held), wanted)
                self._parts.append(part)
                self._join_small()
            is_all = len(batches) < 2
            self._write(state if is_all else "")
        return is_all

    def _without(self, part: Part, signatures: Mapping[str, str]) -> Part | None:
        """Returns a part without the runs whose signatures differ; None if no run is left."""
        left = {run: sign for run, sign in part.runs.items() if signatures.get(run) == sign}
        if not left or left == part.runs:
            return part if left else None
        runs = ", ".join(map(parquet_files.quote, left))
        return self._joined([part], left, f" where run in ({runs})")

    def _fill(self, part: Part, facts: Sequence[str], inputs: Inputs) -> None:
        """Computes facts for the runs of a part, in batches."""
        batches = list(_batches([*part.runs], inputs.sizes))
        pieces = [Part(os.urandom(8).hex(), dict.fromkeys(runs, "")) for runs in batches]
        for piece in pieces if len(pieces) > 1 else [part]:
            self._make(facts, inputs.select([*piece.runs]), partial(self._file, part=piece))
        if len(pieces) == 1:
            return
        for fact in facts:
            self._copy(self._rows(fact, pieces), self._file(fact, part))

    def _join_small(self) -> None:
        """Joins the parts of a class with too many, until no class has too many."""
        while crowded := self._crowded():
            runs = {run: sign for part in crowded for run, sign in part.runs.items()}
            joined = self._joined(crowded, runs)
            self._parts = [part for part in self._parts if part not in crowded] + [joined]

    def _joined(self, parts: Sequence[Part], runs: dict[str, str], which: str = "") -> Part:
        """Writes a part with the rows of others, filtered by the SQL `which`, and returns it."""
        joined = Part(os.urandom(8).hex(), runs)
        for fact in self._held:
            self._copy(f"{self._rows(fact, parts)}{which}", self._file(fact, joined))
        return joined

    def _crowded(self) -> list[Part]:
        classes: dict[int, list[Part]] = {}
        for part in self._parts:
            classes.setdefault(int(math.log(len(part.runs), CLASS_BASE)), []).append(part)
        return next((parts for parts in classes.values() if len(parts) > CLASS_PARTS), [])

    def _rows(self, fact: str, parts: Sequence[Part]) -> str:
        """Returns a query over the rows of a fact in some parts."""
        return parquet_files.query_plain([self._file(fact, part) for part in parts])

    def _file(self, fact: str, part: Part) -> Path:
        return self._at / fact / f"{part.name}-{self._digests[fact]}.parquet"

    def _files(self) -> set[Path]:
        return {self._file(fact, part) for fact in self._held for part in self._parts}

    def _read(self) -> None:
        """Reads from parts.json the parts whose files are complete."""
        self._at = self._folder
        listed = parts_file.read(self._folder)
        self._held = {fact for fact, sql in self._digests.items() if listed.facts.get(fact) == sql}
        self._parts = [part for part in listed.parts if self._is_whole(part)]
        self._state = listed.state if len(self._parts) == len(listed.parts) else ""

    def _is_whole(self, part: Part) -> bool:
        """Returns whether all files of a part are complete; each file is checked once."""
        files = {self._file(fact, part) for fact in self._held}
        is_whole = parts_file.are_whole([*files - self._whole])
        self._whole |= files if is_whole else set()
        return is_whole

    def _write(self, state: str) -> None:
        """Writes parts.json, and removes the files of other parts."""
        kept = self._files()
        for path in self._at.glob("*/*"):
            if path not in kept:
                path.unlink()
        facts = {fact: self._digests[fact] for fact in sorted(self._held)}
        listed = PartList(state=state, facts=facts, parts=self._parts)
        outputs.write_file(self._at / PARTS, parts_file.text_of(listed))

    def remove_damaged(self, connection: duckdb.DuckDBPyConnection) -> list[Path]:
        """Removes files of facts that cannot be read completely, so that they are rebuilt."""
        found = []
        for path in sorted(self._folder.glob("*/*.parquet")):
            try:
                rows = parquet_files.query_plain([path])
                # A count would read the footer alone.
                connection.execute(f"select bit_xor(hash(fact)) from ({rows}) as fact")  # noqa: S608
            except duckdb.Error:
                found.append(path)
                self._whole.discard(path)
                with suppress(OSError):
                    path.unlink()
        return found


def _link(file: Path, place: Path) -> None:
    """Makes a hard link, or a copy if the file system has no hard links."""
    try:
        place.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, place)


def _batches(runs: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yields the runs in groups that are aggregated at once."""
    batch: list[str] = []
    size = 0
    for run in runs:
        if batch and (len(batch) == BATCH_RUNS or size + sizes[run] > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(run)
        size += sizes[run]
    if batch:
        yield batch
