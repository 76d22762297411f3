"""facts/parts.json: which files of facts count, and the rows of which runs are in them.

Facts are a cache. What is not as this file says, or cannot be read, is made anew.
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
#: Of the way in which facts are kept: what was kept in another way is made anew.
FORMAT: Literal[2] = 2
#: The names of the files, as a pattern of DuckDB.
WHOLE = f"{'?' * 16}-{'?' * 16}.parquet"
#: Rows of a fact that count, for who has no more than DuckDB and the folder.
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
        name: Of its files. A folder from elsewhere shall lead to no other ones.
        runs: The runs, with the signature of what their rows were made from.
    """

    name: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    runs: Annotated[Signatures, Field(min_length=1)]


@dataclass
class PartList:
    """What the file says.

    Attributes:
        state: Of the tables, when all was made of them.
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
    """What the file in a folder says; nothing where it is not there, or is damaged."""
    with suppress(FlowsweepError, ValueError):
        text = inputs.read_text(folder / PARTS, "a list of parts", MAX_PARTS_BYTES)
        listed = _kind().validate_json(text, strict=True)
        names = [part.name for part in listed.parts]
        live = [run for part in listed.parts for run in part.runs]
        # Nothing counts twice.
        if all(len({*some}) == len(some) for some in (names, live)):
            return listed
    return PartList()


def text_of(listed: PartList) -> bytes:
    """The content of the file."""
    return _kind().dump_json(listed)


def are_whole(paths: Sequence[Path]) -> bool:
    """Whether all these files are there and end as tables of flowsweep do."""
    with suppress(OSError):
        return all(map(is_table, paths))
    return False


def view(folder: str, fact: str) -> str:
    """A query over the rows of a fact that count when it is asked, by a path to the folder."""
    words: Mapping[str, Any] = {"folder": folder, "fact": fact, "parts": PARTS, "files": WHOLE}
    return _ROWS.format(**words)
