"""Runs an application alone on this machine, or in the testbed with captures, and reads both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

ROOT = Path(__file__).parents[2]
WORKLOADS = ROOT / "capture" / "workloads"
FLOWSWEEP = [sys.executable, "-m", "flowsweep"]
LIMIT_S = 300  # only a hang takes longer

# These tests are about the traffic: a busy machine may delay it.
EXPERIMENT = """\
sites:
  west: [pc1, pc2]
  east: [pc3, pc4]
link: {{rtt: 0.3ms, rate: 200Mbit/s}}
tcp: {{congestion_control: reno}}
workload:
  app: {app}
  problem: {problem}
repetitions: 1
warmup: 0
retries: 0
timeout: 250s
limits: {{other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}}
"""


def mpirun(folder: Path, ranks: int, *program: object) -> subprocess.CompletedProcess[str]:
    """Runs Python on `ranks` ranks over the loopback, with TCP as in the testbed."""
    names = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")
    root = {f"{name}{end}": "1" for name in names for end in ("", "_CONFIRM")}
    command = [
        *(Path(sys.executable).parent / "mpirun", "--host", f"localhost:{ranks}", "-np", ranks),
        *("--bind-to", "none", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"),
        *("--mca", "mpi_yield_when_idle", "1", sys.executable, *program),
    ]
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        env={**os.environ, "TMPDIR": str(folder), **root},
    )


def alone(
    app: str, problem: dict[str, Any], folder: Path, *, ranks: int = 3, compute: str = "paced"
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any] | None]:
    """Runs the application without a testbed; returns the process and its app.json, if any."""
    output = folder / "app.json"
    program = (WORKLOADS / app / f"{app}.py", "--problem", json.dumps(problem))
    done = mpirun(folder, ranks, *program, "--compute", compute, "--output", output)
    return done, json.loads(output.read_text()) if output.exists() else None


@dataclass(frozen=True)
class Captured:
    """A run of four hosts in two sites, and the tables of their captures."""

    record: dict[str, Any]
    folder: Path

    @property
    def application(self) -> dict[str, Any]:
        """The application's own record."""
        found: dict[str, Any] = self.record["application"]
        return found

    def table(self, host: str, name: str, *options: str) -> pl.DataFrame:
        """Returns a table of `flowsweep parse`."""
        output = self.folder / f"tables-{host}{''.join(options)}"
        if not output.exists():
            capture = self.folder / "run" / f"{host}.pcap.zst"
            words = ["parse", str(capture), "--output", str(output), *options]
            subprocess.run([*FLOWSWEEP, *words], check=True, capture_output=True, timeout=LIMIT_S)
        return pl.read_parquet(output / f"{name}.parquet")

    def bins(self, host: str, address: str) -> pl.DataFrame:
        """Returns payload out of and into a host in every 10-ms bin of the run, empty ones too."""
        found = self.table(host, "throughput")
        number = pl.col("bin_start").dt.epoch("ns") // 10_000_000
        found = found.with_columns(number.cast(pl.Int64).alias("bin"))
        first, last = found["bin"].min(), found["bin"].max()
        whole = pl.DataFrame({"bin": range(first, last + 1)}, schema={"bin": pl.Int64})
        for way, column in (("out", "src_ip"), ("in", "dst_ip")):
            part = found.filter(pl.col(column).cast(pl.String) == address)
            part = part.group_by("bin").agg(pl.col("payload_bytes").sum().alias(way))
            whole = whole.join(part.with_columns(pl.col("bin").cast(pl.Int64)), "bin", "left")
        return whole.fill_null(0)


def captured(app: str, problem: dict[str, Any], folder: Path, *settings: str) -> Captured:
    """Makes one run with `flowsweep run`, at the baseline or with settings (`rtt=16ms`)."""
    experiment = folder / "short.yaml"
    experiment.write_text(EXPERIMENT.format(app=app, problem=json.dumps(problem)))
    words = ["run", str(experiment), "--output", str(folder / "run")]
    for setting in settings:
        words += ["--set", setting]
    done = subprocess.run(
        [*FLOWSWEEP, *words], capture_output=True, text=True, check=False, timeout=2 * LIMIT_S
    )
    record = json.loads((folder / "run" / "run.json").read_text())
    assert done.returncode == int(record["status"] == "failed"), done.stderr
    return Captured(record, folder)


def counts_agree(record: dict[str, Any]) -> bool:
    """Returns whether every rank received what the others report as sent to it."""
    return all(
        sum(rank["to"].get(str(to["rank"]), {}).get(count, 0) for rank in record["ranks"])
        == to[f"received_{count}"]
        for to in record["ranks"]
        for count in ("messages", "bytes")
    )
