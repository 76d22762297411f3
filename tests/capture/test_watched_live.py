"""An agent captures and rotates while `flowsweep watch` keeps its report up to date."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import polars as pl

WAITS = "is being written, and waits until it is whole"


def test_every_packet_of_a_live_capture_is_in_the_tables(cable, tmp_path, until):
    folder = tmp_path / "live"
    folder.mkdir()
    watching = [sys.executable, "-m", "flowsweep", "watch", folder]
    watching += ["--interval", "100ms", "--period", "1s", "--quiet", "10min"]
    results = tmp_path / "results/live"
    with (tmp_path / "said").open("w") as log:
        watcher = subprocess.Popen([*map(str, watching)], cwd=tmp_path, stderr=log)
        agent = cable.start("-i", "far", "-w", folder / "pc1.pcap.zst", "--rotate-time", "1s")
        assert agent.is_ready()
        # Before the load begins: a watcher that is behind never waits for a file.
        until(lambda: WAITS in (tmp_path / "said").read_text(), "a file that is being written")
        stream = cable.stream(5)
        until((results / "report.html").exists, "a report while packets are captured")
        assert stream.wait() == 0
        assert agent.stop() == 0
        manifest = json.loads((folder / "pc1.capture.json").read_text())

        def is_recorded() -> bool:
            tables = [*results.glob("tables/*/*/captures.parquet")]
            packets = sum(pl.read_parquet(path)["packets"].sum() for path in tables)
            # The record of a run is written after its tables.
            records = [*results.glob("runs/*/run.json")]
            return packets == manifest["packets_written"] and len(records) == len(tables)

        until(is_recorded, "the last of the packets")
        watcher.send_signal(signal.SIGTERM)
        assert watcher.wait(timeout=60) == 0
    assert manifest["packets_written"] == manifest["received"] > 1_000
    assert len(manifest["files"]) > 3
    tables = pl.read_parquet([*results.glob("tables/*/*/captures.parquet")])
    # The last file may be empty.
    filled = [one for one in manifest["files"] if one["packets"]]
    assert tables["dropped_kernel"].to_list() == [0] * len(filled)
    lines = (tmp_path / "said").read_text().splitlines()
    runs = [line.partition(":")[0] for line in lines if "1 host, " in line]
    assert len(runs) == len(set(runs)) == len([*results.glob("runs/*/run.json")])
