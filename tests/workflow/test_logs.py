"""Zeek's logs in an experiment's folder: all of them are used."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl

CONN = {
    "ts": 1.5, "uid": "C1", "id.orig_h": "10.0.0.1", "id.orig_p": 4000, "id.resp_h": "10.0.0.2",
    "id.resp_p": 80, "proto": "tcp", "duration": 2.0, "orig_bytes": 10, "resp_bytes": 20,
    "conn_state": "SF", "missed_bytes": 0, "history": "ShADadFf", "orig_pkts": 4,
    "orig_ip_bytes": 218, "resp_pkts": 3, "resp_ip_bytes": 176,
}  # fmt: skip


def write(path: Path, uid: str) -> Path:
    path.write_text(json.dumps(CONN | {"uid": uid}) + "\n")
    return path


def uids(folder: Path) -> list[str]:
    tables = folder / "results/mine/tables/*/*/zeek_conn.parquet"
    return pl.read_parquet(tables, hive_partitioning=False)["uid"].to_list()


def test_a_log_that_changes_or_comes_makes_the_tables_anew(snakemake, tmp_path):
    experiment = tmp_path / "mine"
    logs = experiment / "runs/r1/pc1"
    logs.mkdir(parents=True)
    (experiment / "experiment.yaml").write_text("title: logs\n")
    write(logs / "conn.10:00:00-11:00:00.log", "C1")
    second = write(logs / "conn.11:00:00-12:00:00.log", "C2")

    def made() -> list[str]:
        done = snakemake(tmp_path, experiment / "experiment.yaml", "--until", "parse_run")
        assert done.returncode == 0, done.stderr
        return uids(tmp_path)

    assert made() == ["C1", "C2"]
    write(second, "C2-again")
    assert made() == ["C1", "C2-again"]
    # Like a log that was copied with its date.
    third = write(logs / "conn.12:00:00-13:00:00.log", "C3")
    os.utime(third, (1e9, 1e9))
    assert made() == ["C1", "C2-again", "C3"]
    third.unlink()
    assert made() == ["C1", "C2-again"]
