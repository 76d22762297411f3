"""facts/parts.json: lists the valid files of facts and the runs whose rows they contain.

Facts are a cache. Entries that do not match this file, or cannot be read, are rebuilt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs
from flowsweep.files.owned import is_table
from flowsweep.warehouse.signatures import Signatures  # noqa: TC001 - pydantic reads it

PARTS = "parts.json"
MAX_PARTS_BYTES = 1 << 28
#: The version of the layout: facts of another version are rebuilt.
FORMAT: Literal[2] = 2
#: The names of the files, as a DuckDB glob pattern.
WHOLE = f"{'?' * 16}-{'?' * 16}.parquet"
#: The valid rows of a fact, for a reader that has only DuckDB and the folder.
_ROWS = """\
with listed as (select content::json as listed from read_text('{folder}/{parts}')),
part as (
    select
        unnest(
            from_json(json_extract(listed, '$.parts'), '[{{"name": "VARCHAR"}}]')
        ) as part,
        json_extract_string(listed, '$.facts.{fact}') as digest
    from listed
)
select fact.* exclude (filename)
from read_parquet('{folder}/{fact}/{files}', union_by_name = true, filename = true,
    hive_partitioning = false) as fact
join part on parse_filename(fact.filename) = concat(part.name, '-', digest, '.parquet')"""


@dataclass
class Part:
    """The rows of some runs, one file of each fact.

    Attributes:
        name: The prefix of its files' names. The pattern rejects paths in a foreign parts.json.
        runs: The runs, with the signature of the files that their rows were computed from.
    """

    name: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    runs: Annotated[Signatures, Field(min_length=1)]


@dataclass
class PartList:
    """The content of the file.

    Attributes:
        state: The state of the tables when their facts were complete; empty before.
        facts: The digest of the SQL of each fact that every part has.
    """

    format: Literal[2] = FORMAT
    state: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)


@cache
def _kind() -> TypeAdapter[PartList]:
    return TypeAdapter(PartList)


def read(folder: Path) -> PartList:
    """Returns the list of a folder; an empty list if the file is missing or damaged."""
    with suppress(FlowsweepError, ValueError):
        text = inputs.read_text(folder / PARTS, "a list of parts", MAX_PARTS_BYTES)
        listed = _kind().validate_json(text, strict=True)
        names = [part.name for part in listed.parts]
        live = [run for part in listed.parts for run in part.runs]
        # A repeated part or run would give rows twice.
        if all(len({*some}) == len(some) for some in (names, live)):
            return listed
    return PartList()


def text_of(listed: PartList) -> bytes:
    """Returns the content of the file."""
    return _kind().dump_json(listed)


def are_whole(paths: Sequence[Path]) -> bool:
    """Returns whether all files exist, and end like those of the fact that their folder names."""
    with suppress(OSError):
        return all(is_table(path, path.parent.name) for path in paths)
    return False


def view(folder: str, fact: str) -> str:
    """Returns a query over the rows of a fact that are valid when the query runs."""
    words: Mapping[str, Any] = {"folder": folder, "fact": fact, "parts": PARTS, "files": WHOLE}
    return _ROWS.format(**words)
