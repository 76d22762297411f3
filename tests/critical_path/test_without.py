"""Runs without a critical path."""

from __future__ import annotations

import json
from pathlib import Path

import forks
import polars as pl
import pytest
from build import START_NS, ethernet, ip, pcap
from spoiled import DEMO, change, copy_run


def ingest(run: Path, tables: Path) -> str:
    done = forks.run("flowsweep", "ingest", "--match", run, "-o", tables, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr


def pieces(tables: Path) -> pl.DataFrame:
    paths = sorted(tables.rglob("critical_path.parquet"))
    assert paths
    return pl.concat(pl.read_parquet(path) for path in paths).sort("step")


def test_datagrams_alone_have_no_messages_and_no_path(tmp_path: Path) -> None:
    run = tmp_path / "datagrams"
    run.mkdir()
    addresses = {"a": "10.0.0.1", "b": "10.0.0.2"}
    header = bytes([0, 5, 0, 6, 0, 16, 0, 0])
    for host, late in (("a", 0), ("b", 5_000_000)):
        frames = [
            (
                START_NS + number * 10**6 + late,
                ethernet(
                    ip(*addresses.values(), 17, header + number.to_bytes(8, "big"), ident=number)
                ),
            )
            for number in range(1, 100)
        ]
        (run / f"{host}.pcap").write_bytes(pcap(frames))
    hosts = [{"name": name, "address": address} for name, address in addresses.items()]
    (run / "run.json").write_text(json.dumps({"hosts": hosts, "completion_s": 1.0}))
    ingest(run, tmp_path / "tables")
    assert pieces(tmp_path / "tables").is_empty()


def test_a_program_that_ended_before_its_first_message_has_no_path(tmp_path: Path) -> None:
    run = tmp_path / "nqueens-rtt_64ms-r1"
    run.mkdir()
    for path in (DEMO / run.name).iterdir():
        if path.name != "run.json":
            (run / path.name).symlink_to(path)
    record = json.loads((DEMO / run.name / "run.json").read_text())
    record["application"] |= {"start": "2020-01-01T00:00:00Z", "end": "2020-01-01T00:00:01Z"}
    (run / "run.json").write_text(json.dumps(record))
    ingest(run, tmp_path / "tables")
    assert pieces(tmp_path / "tables").is_empty()


def test_too_much_that_nobody_knows_of_is_not_explained_as_a_whole(tmp_path: Path) -> None:
    """Every third record of one capture is missing, so what arrived there is unknown."""
    run = copy_run(DEMO / "nqueens-rate_20Mbit-r1", tmp_path / "nqueens-rate_20Mbit-r1")
    change(run, "pc1", lambda number, time: None if number % 3 == 0 else time)
    ingest(run, tmp_path / "tables")
    found = pieces(tmp_path / "tables")
    assert found["part"].to_list() == ["not explained"]
    record = json.loads((run / "run.json").read_text())
    assert found["duration_ns"][0] / 1e9 == pytest.approx(record["completion_s"], abs=1e-6)


def test_a_persons_own_record_may_hold_other_things(tmp_path: Path) -> None:
    """A number for the ranks, invalid sites: the path needs neither; a wrong time is named."""
    run = copy_run(DEMO / "nqueens-baseline-r1", tmp_path / "nqueens-baseline-r1")
    record = json.loads((run / "run.json").read_text())
    changed = record | {"ranks": 5, "sites": {"west": 2, "east": ["pc3", 4]}, "links": [{"x": 1}]}
    (run / "run.json").write_text(json.dumps(changed))
    assert "note" not in ingest(run, tmp_path / "tables")
    length = pieces(tmp_path / "tables")["duration_ns"].sum() / 1e9
    assert length == pytest.approx(record["completion_s"], abs=1e-6)
    changed["application"] = record["application"] | {"end": "noon"}
    (run / "run.json").write_text(json.dumps(changed))
    printed = ingest(run, tmp_path / "tables")
    assert "note: no critical path:" in printed
    assert "application.end" in printed
    assert [*(tmp_path / "tables").rglob("fates.parquet")]
    assert not [*(tmp_path / "tables").rglob("critical_path.parquet")]
