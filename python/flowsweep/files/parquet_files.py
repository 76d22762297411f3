"""Writes the SQL by which DuckDB reads Parquet files, with run and host from their folders.

DuckDB reads every path as a glob pattern, and `key=value` in any parent folder as a column. Here a
path is literal, and only the two folders that `flowsweep ingest` made give run and host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.files.owned import TABLE_MARK

#: The folders of the tables, as a glob pattern.
PARTITIONS = "run=*/host=*"
#: A run or host, decoded from its folder. Not `filename`: that is a column of Zeek's files.log.
_VALUE = "url_decode(regexp_extract(flowsweep_file, '/{key}=([^/]*){behind}$', 1)) as {key}"
#: The query for a table without files.
NOTHING = "select null::varchar as run where false"
_WHOLE = """\
select
    * exclude (flowsweep_file),
    {host},
    {run},
from read_parquet(
    {files}, filename = 'flowsweep_file', hive_partitioning = false, union_by_name = {by_name}
)"""


def query_folder(tables: Path, table: str) -> str:
    """Returns a query over all files of one table."""
    pattern = f"{literal(tables, in_pattern=True)}/{PARTITIONS}/{table}.parquet"
    return _query_partitioned(quote(pattern), by_name=True)


def query_folders(tables: Path, table: str, folders: Iterable[str]) -> str:
    """Returns a query over the files of one table of some runs; without files it has no rows."""
    found = [
        path
        for folder in sorted(folders)
        for path in sorted((tables / folder).glob(f"host=*/{table}.parquet"))
    ]
    if not found:
        return NOTHING
    return _query_partitioned(_list_paths(found), by_name=True)


def query_files(paths: Sequence[Path]) -> str:
    """Returns a query over these files, with run and host if all are in such folders."""
    files = _list_paths(paths)
    if all(_is_partitioned(path) for path in paths):
        return _query_partitioned(files, by_name=False)
    return f"select * from read_parquet({files}, hive_partitioning = false)"  # noqa: S608 - quoted


def query_plain(paths: Sequence[Path]) -> str:
    """Returns a query over files that contain all columns, such as facts, matched by name."""
    return f"select * from read_parquet({_list_paths(paths)}, hive_partitioning = false, union_by_name = true)"  # noqa: S608, E501 - quoted


def copy(query: str, path: Path, mark: str, options: str = "") -> str:
    """Returns a statement that writes the rows of a query as one of flowsweep's tables.

    Args:
        query: The rows.
        path: The file to write.
        mark: The name of the file's content in its metadata.
        options: Further options of `copy`, each preceded by a comma.
    """
    return (
        f"copy ({query}\n) to {quote(str(path))} (format parquet, compression zstd, "
        f"use_tmp_file false, kv_metadata {{'{TABLE_MARK.decode()}': {quote(mark)}}}{options})"
    )


def _list_paths(paths: Sequence[Path]) -> str:
    return f"[{', '.join(quote(literal(path)) for path in paths)}]"


def _is_partitioned(path: Path) -> bool:
    parts = path.absolute().parts[-3:-1]
    return len(parts) == 2 and parts[0].startswith("run=") and parts[1].startswith("host=")


def _query_partitioned(files: str, *, by_name: bool) -> str:
    return _WHOLE.format(
        host=_VALUE.format(key="host", behind="/[^/]*"),
        run=_VALUE.format(key="run", behind="/host=[^/]*/[^/]*"),
        files=files,
        by_name=str(by_name).lower(),
    )


def literal(path: Path, *, in_pattern: bool = False) -> str:
    """Escapes a path for DuckDB, so that no character is a wildcard.

    Args:
        path: The path.
        in_pattern: Whether the caller appends a pattern.

    Raises:
        FlowsweepError: DuckDB cannot read such a path.
    """
    text = str(path)
    is_pattern = in_pattern or re.search(r"[*?\[]", text) is not None
    found = None
    if is_pattern and "\\" in text:
        # In a pattern, DuckDB reads a backslash as a path separator.
        found = "a backslash in the path, which DuckDB takes for a slash there"
    elif re.search("[\ud800-\udfff]", text):
        found = "a path that is not UTF-8"
    if found is not None:
        raise FlowsweepError(
            f"{path}: tables cannot be read from this folder",
            found=found,
            expected="a path that DuckDB can read",
            remedy="rename the folder, or give it a link of another name: ln -s",
        )
    return re.sub(r"[*?\[]", r"[\g<0>]", text) if is_pattern else text


def quote(text: str) -> str:
    """Returns a text as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"
