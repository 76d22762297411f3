"""Names of experiments, runs and hosts: checks them and encodes them for paths.

A run is named after its folder, a host after its capture, an experiment after its file. So a name
may contain all characters of file names, except those that would break a table, report or terminal.

In paths of tables a name is encoded as in Hive, `run=a%20b`: DuckDB, Spark, Polars and pyarrow
decode %XX. Only ASCII is encoded, since they differ in what %XX of other characters means.
"""

from __future__ import annotations

import re
from pathlib import Path

from flowsweep.errors import FlowsweepError

#: The `kind` of an experiment for `check`: fewer names are allowed than for a run.
EXPERIMENT = "an experiment"
#: The longest file name, in bytes, that every file system accepts.
MOST_BYTES = 255
#: Bytes reserved for a prefix and suffix of a name: `run=`, `.capture.json`.
_AFFIX_BYTES = 16
#: Hive encodes fewer characters, but all these readers decode every %XX.
_ENCODED = re.compile(r"[^A-Za-z0-9._\-\x80-\U0010ffff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_NO_UTF8 = re.compile("[\ud800-\udfff]")


def encode(name: str) -> str:
    """Returns a name as it is written in a path: `a b` as `a%20b`."""
    return _ENCODED.sub(lambda match: f"%{ord(match[0]):02X}", name)


def partition(key: str, name: str) -> str:
    """Returns the folder of a Hive partition: `run=a%20b`."""
    return f"{key}={encode(name)}"


def check(name: str, kind: str, place: Path | str) -> str:
    """Returns the name, if a run, a host or an experiment may have it.

    Args:
        name: The name, as in the file system.
        kind: What has the name: "a run", "a host", EXPERIMENT.
        place: The file or folder, for the message.

    Raises:
        FlowsweepError: The name is not valid; says why, and the remedy.
    """
    fault = _fault(name) or (_experiment_fault(name) if kind == EXPERIMENT else None)
    if fault is None:
        return name
    found, expected = fault
    raise FlowsweepError(
        f"{place}: this cannot be the name of {kind}",
        found=found,
        expected=expected,
        remedy="rename it",
    )


def _fault(name: str) -> tuple[str, str] | None:
    """Returns what is wrong with a name and what is expected; None if it is valid."""
    if name in ("", ".", ".."):
        return f'"{name}"', "a name"
    if _NO_UTF8.search(name):
        return ascii(name), "a name in UTF-8"
    if "/" in name:
        return f"{name!r}: a slash", "the name of one file or folder"
    if _CONTROL.search(name):
        return f"{name!r}: a line end or control character", "characters that can be seen"
    size = len(encode(name).encode()) + _AFFIX_BYTES
    if size > MOST_BYTES:
        spelled = "" if encode(name) == name else ", some of which take three in a path"
        return (
            f"{len(name.encode())} bytes{spelled}",
            f"at most {MOST_BYTES - _AFFIX_BYTES} bytes as it is spelled in paths",
        )
    return None


def _experiment_fault(name: str) -> tuple[str, str] | None:
    """Checks a name that the workflow's rules use as a folder, without encoding."""
    if any(character in name for character in "{}\\"):
        return f"{name!r}", "no { and }, which Snakemake takes for its own, and no backslash"
    if name != name.strip() or name.startswith("-"):
        return f"{name!r}", "a name that neither begins with - or a space nor ends with a space"
    return None
