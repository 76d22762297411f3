"""What the figures need of each run, aggregated once and kept in results/<experiment>/facts.

A fact is a query of reports/facts whose rows of a run follow from that run's tables and record
alone. It is made of some runs at a time, by a warehouse that sees no others, and written to
facts/<fact>/<part>-<SQL>.parquet: a part holds the rows of some runs. facts/parts.json says of
which, and from which files of theirs. What differs from that is made anew: of a run whose files
differ, all facts; of a fact whose SQL differs, that fact of all runs. Small parts are joined, so
that few files are opened. Nothing is read that parts.json does not name. It is written when all
that it names is on the disk, and only then are files removed that it names no more.
"""

from __future__ import annotations

import functools
import math
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from flowsweep.files import outputs, parquet_files
from flowsweep.files.locks import folder_locked
from flowsweep.warehouse import parts as parts_file
from flowsweep.warehouse.parts import FILE, PARTS, Part, Said
from flowsweep.warehouse.signatures import Inputs

FOLDER = "facts"
#: Runs that are aggregated at once: so many, and so many bytes of their tables.
BATCH_RUNS, BATCH_BYTES = 256, 24_000_000
#: Parts are of one class if the logarithms of their runs to this base have one whole part. Of a
#: class with more than `CLASS_PARTS` parts all are joined to one.
CLASS_BASE, CLASS_PARTS = 8, 8

#: Writes facts of some runs: names of facts, the runs, the path of each fact's file.
Make = Callable[[Sequence[str], Inputs, Callable[[str], Path]], None]
#: Writes the rows of a query to a file.
Copy = Callable[[str, Path], None]


class Kept:
    """The facts of one experiment on disk.

    Args:
        directory: results/<experiment>.
        digests: Of the SQL of each fact, with all that it reads.
        make: See `Make`.
        copy: See `Copy`.
    """

    def __init__(self, directory: Path, digests: Mapping[str, str], make: Make, copy: Copy) -> None:
        self.folder = directory / FOLDER
        self._digests = dict(digests)
        self._make, self._copy = make, copy
        self._parts: list[Part] = []
        self._state = ""
        #: Facts that are there, of every part.
        self._held: set[str] = set()
        #: Files of which the disk has all, and files that were found whole.
        self._synced: set[Path] = set()
        self._whole: set[Path] = set()

    def query(self, fact: str) -> str | None:
        """A query over the rows of a fact; None where there is no run."""
        return self._rows(fact, self._parts)

    @contextmanager
    def reading(
        self, needed: Collection[str], state: str, wanted: Callable[[], Inputs]
    ) -> Iterator[bool]:
        """Facts of all runs are there, and stay while this is entered.

        Args:
            needed: These facts; others are made when they are needed.
            state: Of the tables: where it is the one of the last time, no signature is asked for.
            wanted: The runs, and what their facts must be made from.

        Yields:
            Whether they are kept; false where this user cannot keep them there.
        """
        for _ in range(100):
            if not self._begin():
                break
            with folder_locked(self.folder, shared=True):
                if self._is_fresh(needed, state):
                    yield True
                    return
            try:
                with folder_locked(self.folder):
                    if not self._is_fresh(needed, state):
                        self._update(needed, state, wanted())
            except OSError:  # read only, or full
                self._remove_new()
                break
        self._parts = []
        yield False

    def _begin(self) -> bool:
        """Makes the folder; whether it is there, and nothing else has its name."""
        with suppress(OSError):
            self.folder.mkdir()
        try:
            about = self.folder.lstat()
        except OSError:
            return False
        return stat.S_ISDIR(about.st_mode) and os.access(self.folder, os.R_OK | os.X_OK)

    def _is_fresh(self, needed: Collection[str], state: str) -> bool:
        self._read()
        return self._state == state and self._held >= {*needed}

    def _update(self, needed: Collection[str], state: str, wanted: Inputs) -> None:
        signatures = wanted.signatures
        outputs.remove_parts(self.folder)
        for part in self._parts:
            gone = [run for run, sign in part.runs.items() if signatures.get(run) != sign]
            part.dead += gone
            part.runs = {run: sign for run, sign in part.runs.items() if run not in {*gone}}
        self._parts = [part for part in self._parts if part.runs]
        if missing := sorted({*needed} - self._held):
            for part in self._parts:
                self._fill(part, missing, wanted)
        self._held |= {*missing}
        there = {run for part in self._parts for run in part.runs}
        for runs in _batches([run for run in signatures if run not in there], wanted.sizes):
            part = Part(os.urandom(8).hex(), {run: signatures[run] for run in runs})
            self._fill(part, sorted(self._held), wanted)
            self._parts.append(part)
            self._join_small()
            # Who is stopped goes on from here, not from the first run.
            self._write("")
        self._write(state)

    def _fill(self, part: Part, facts: Sequence[str], inputs: Inputs) -> None:
        """Makes facts of the runs of a part, in batches."""
        batches = list(_batches([*part.runs], inputs.sizes))
        pieces = [Part(os.urandom(8).hex(), dict.fromkeys(runs, "")) for runs in batches]
        for piece in pieces if len(pieces) > 1 else [part]:
            place = functools.partial(self._place, part=piece)
            self._make(facts, inputs.of([*piece.runs]), place)
        if len(pieces) == 1:
            return
        for fact in facts:
            self._copy(self._rows(fact, pieces) or "", self._place(fact, part))

    def _join_small(self) -> None:
        """Joins the parts of a class that has too many; their class may have one too many then."""
        while crowded := self._crowded():
            runs = {run: sign for part in crowded for run, sign in part.runs.items()}
            joined = Part(os.urandom(8).hex(), runs)
            for fact in self._held:
                self._copy(self._rows(fact, crowded) or "", self._place(fact, joined))
            self._parts = [part for part in self._parts if part not in crowded] + [joined]

    def _crowded(self) -> list[Part]:
        classes: dict[int, list[Part]] = {}
        for part in self._parts:
            classes.setdefault(int(math.log(len(part.runs), CLASS_BASE)), []).append(part)
        return next((parts for parts in classes.values() if len(parts) > CLASS_PARTS), [])

    def _rows(self, fact: str, parts: Sequence[Part]) -> str | None:
        """The rows of a fact in some parts, as a query."""
        whole = [self._file(fact, part) for part in parts if not part.dead]
        queries = [parquet_files.of_plain(whole)] if whole else []
        for part in parts:
            if part.dead:
                dead = ", ".join(map(parquet_files.quoted, part.dead))
                read = parquet_files.of_plain([self._file(fact, part)])
                queries.append(f"{read} where run not in ({dead})")
        return "\nunion all by name\n".join(queries) or None

    def _file(self, fact: str, part: Part) -> Path:
        return self.folder / fact / f"{part.name}-{self._digests[fact]}.parquet"

    def _place(self, fact: str, part: Part) -> Path:
        """The file to write, in a folder that is there."""
        path = self._file(fact, part)
        path.parent.mkdir(exist_ok=True)
        return path

    def _read(self) -> None:
        """What parts.json says of parts whose files are whole."""
        said = parts_file.read(self.folder)
        self._held = {fact for fact, sql in self._digests.items() if said.facts.get(fact) == sql}
        self._parts = [part for part in said.parts if self._is_whole(part)]
        self._state = said.state if len(self._parts) == len(said.parts) else ""

    def _is_whole(self, part: Part) -> bool:
        """Whether all files of a part can be opened; each is looked at once."""
        files = {self._file(fact, part) for fact in self._held}
        is_whole = parts_file.are_whole([*files - self._whole])
        self._whole |= files if is_whole else set()
        return is_whole

    def _write(self, state: str) -> None:
        files = {self._file(fact, part) for fact in self._held for part in self._parts}
        for path in sorted(files - self._synced):
            outputs.sync(path)
        self._synced = files
        facts = {fact: self._digests[fact] for fact in sorted(self._held)}
        said = Said(state=state, facts=facts, parts=self._parts)
        outputs.write_file(self.folder / PARTS, parts_file.text_of(said))
        self._tidy()

    def _remove_new(self) -> None:
        """Gives back the room of what was written and counts for nothing, where that is allowed."""
        with suppress(OSError), folder_locked(self.folder):
            self._read()
            self._tidy()

    def remove_damaged(self, connection: duckdb.DuckDBPyConnection) -> list[Path]:
        """Removes files of facts that cannot be read to their end, so that they are made anew."""
        found = []
        for path in sorted({self._file(fact, part) for fact in self._held for part in self._parts}):
            try:
                rows = parquet_files.of_plain([path])
                # Not a count, which the ends of the file could answer.
                connection.execute(f"select bit_xor(hash(fact)) from ({rows}) as fact")  # noqa: S608
            except duckdb.Error:
                found.append(path)
                with suppress(OSError):
                    path.unlink()
        return found

    def _tidy(self) -> None:
        """Removes files of ours that no part names: of an earlier SQL, joined, or cut off."""
        kept = {self._file(fact, part) for fact in self._held for part in self._parts}
        for path in self.folder.glob("*/*.parquet*"):
            if path not in kept and FILE.fullmatch(path.name) and not path.is_symlink():
                path.unlink()


def _batches(runs: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """The runs in groups that are aggregated at once."""
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
