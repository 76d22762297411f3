"""Values of Zeek's logs compared with a second reader, plain Python by its writer's rules."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from collection import ZEEK_LOGS, by_size

from flowsweep.zeek import convert

KINDS = ["conn", "dns", "http", "ssl", "files", "weird", "x509", "dhcp", "ssh", "tunnel", "ntp",
         *by_size([], ["smb_files", "notice", "pe"])]  # fmt: skip
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def value(text: str, kind: str, unset: str = "-") -> object:
    """Returns one value as Zeek wrote it; no value is longer than its line."""
    if text == unset:
        return None
    container = re.fullmatch(r"(?:set|vector)\[(.*)\]", kind)
    if container:
        return [] if text == "(empty)" else [value(one, container[1]) for one in text.split(",")]
    if kind == "bool":
        return text == "T"
    if kind in ("count", "int", "port"):
        return int(text)
    if kind == "double":
        return float(text)
    if kind in ("time", "interval"):
        exact = timedelta(microseconds=int(Decimal(text) * 1_000_000))
        return exact if kind == "interval" else EPOCH + exact
    if text == "(empty)":
        return ""
    unescaped = re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()),
                    text.encode())  # fmt: skip
    try:
        return unescaped.decode()
    except UnicodeDecodeError:
        return text  # not valid text: its escapes stay


def reading(path: Path) -> list[dict[str, object]]:
    """Returns all rows of a log."""
    rows, fields, types = [], [], []
    for line in gzip.decompress(path.read_bytes()).decode().rstrip("\n").split("\n"):
        name, *values = line.split("\t")
        if name == "#fields":
            fields = values
        elif name == "#types":
            types = values
        elif not line.startswith("#"):
            cells = zip(fields, [name, *values], types, strict=True)
            rows.append({field: value(text, kind) for field, text, kind in cells})
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_a_second_reading(tmp_path: Path, kind: str) -> None:
    logs = sorted(ZEEK_LOGS.rglob(f"{kind}.log.gz"))
    assert logs
    compared = 0
    for number, path in enumerate(logs):
        log = convert.look(path)
        if log is None:
            assert reading(path) == []
            continue
        target = tmp_path / f"{number}.parquet"
        convert.convert([log], target)
        expected = reading(path)
        assert pl.read_parquet(target).rows(named=True) == expected, path
        compared += len(expected)
    assert compared > 0
