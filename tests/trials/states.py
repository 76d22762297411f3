"""The content of a folder, as the commands left it and as a reader without locks sees it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path

import duckdb

#: Temporary files of commands.
TEMPORARY = "tmp"
#: A cache: its files have random names, and depend on earlier caches.
FACTS = "facts"
#: Lists every run that has tables.
LIST = "runs.parquet"
#: Names that differ between writings.
_RANDOM = re.compile(r"[0-9a-f]{16}")

#: By path, with `*` for random parts: digests of the files with this path.
State = dict[str, tuple[str, ...]]
#: By table: number of rows, and the sum of their hashes.
Rows = dict[str, tuple[int, int]]


def state_of(folder: Path) -> State:
    """Returns every file and every empty folder below a folder, except facts."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if FACTS in path.parts:
            continue
        name = _RANDOM.sub("*", str(path.relative_to(folder)))
        if path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            found.setdefault(name, []).append(digest)
        elif not any(path.iterdir()):
            found[f"{name}/"] = [""]
    return {name: tuple(sorted(digests)) for name, digests in found.items()}


def orphans_of(folder: Path) -> list[str]:
    """Returns files of facts that nothing refers to."""
    found = []
    for facts in folder.rglob(FACTS):
        known = [path.read_text() for path in facts.glob("parts.json")]
        found += [
            str(path.relative_to(folder))
            for path in facts.rglob("*")
            if path.is_file()
            and path.name != "parts.json"
            and not any(path.name.partition("-")[0] in text for text in known)
        ]
    return found


def is_hidden(name: str) -> bool:
    """Returns whether a path is still being written."""
    parts = Path(name).parts
    return parts[0] == TEMPORARY or any(part.startswith(".") for part in parts)


def without_bytes(state: State, names: set[str]) -> dict[str, object]:
    """Returns the state, with only the number of files where bytes vary between writings."""
    return {name: len(found) if name in names else found for name, found in state.items()}


def varying(one: State, other: State) -> set[str]:
    """Returns paths whose bytes differ between two undisturbed writings."""
    return {name for name in one.keys() & other.keys() if one[name] != other[name]}


def torn(folder: Path, seen: State, *known: State, vary: set[str]) -> list[str]:
    """Returns files with final names that no undisturbed writing left there."""
    found = []
    for name, digests in seen.items():
        if is_hidden(name) or name.endswith("/"):
            continue
        if name in vary or "*" in name:
            paths = folder.glob(name)
            found += [f"{path} cannot be read" for path in paths if not _is_readable(path)]
            continue
        whole = Counter(digest for state in known for digest in state.get(name, ()))
        if not all(whole[digest] for digest in digests):
            found.append(f"{name} is of no writing")
    return found


def _is_readable(path: Path) -> bool:
    """Returns whether a file with unknown bytes is complete."""
    try:
        with duckdb.connect() as connection:
            if path.suffix == ".parquet":
                connection.read_parquet(str(path)).aggregate("bit_xor(hash(COLUMNS(*)))").fetchall()
            elif path.suffix == ".duckdb":
                connection.execute(f"attach '{path}' as it (read_only)")
                for (table,) in connection.execute(
                    "select format('it.{}.\"{}\"', schema_name, table_name) from duckdb_tables() "
                    "where database_name = 'it'"
                ).fetchall():
                    connection.execute(f"select count(*) from {table}").fetchall()
    except duckdb.Error:
        return False
    return True


def rows_of(folder: Path) -> Rows | str:
    """Returns the rows of all tables for a reader without locks, or its error.

    Reads like DuckDB with `tables/**/*.parquet`, which includes hidden folders.
    """
    files: dict[str, list[str]] = {}
    for tables in (*folder.glob("tables"), *folder.glob("*/tables")):
        for path in sorted(tables.rglob("*.parquet")):
            files.setdefault(path.name, []).append(str(path))
    found: Rows = {}
    with duckdb.connect() as connection:
        for name, paths in sorted(files.items()):
            query = (
                "select count(*), coalesce(sum(hash(one)), 0)::hugeint from "
                "read_parquet(?, hive_partitioning = true, union_by_name = true) as one"
            )
            try:
                found[name] = connection.execute(query, [paths]).fetchall()[0]
            except duckdb.Error as error:
                return f"a plain reader of {name}: {str(error).splitlines()[0]}"
    return found
