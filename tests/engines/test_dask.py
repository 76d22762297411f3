"""Dask on several processes reads the tables of many runs, and gives flowsweep's answers."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bench import made_sweep
from polars.testing import assert_frame_equal

from .conftest import FLOWSWEEP

#: Three runs of each point; `make truth` makes ten.
RUNS = 1_000 if os.environ.get("FLOWSWEEP_ALL_EXAMPLES") else 300
POINT = ["rtt_ms", "rate_mbit_s"]
ADDRESSES = {name: address for name, _, address in made_sweep.HOSTS}
#: Groups of files, each read as one.
PARTS = 8
#: The first host of the second site, as in `totals`.
SHOWN = ADDRESSES["pc3"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    size = made_sweep.Size(bins=50, connections=5, messages=10)
    return made_sweep.make(tmp_path_factory.mktemp("made") / "made", RUNS, size)


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """A cluster of two other processes."""
    distributed = pytest.importorskip("distributed", reason="run .config/prepare.sh test")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert os.getpid() not in client.run(os.getpid).values()
        assert len(set(client.run(os.getpid).values())) == 2
        yield client


@pytest.fixture(scope="module")
def flows(workers: Any, made: Path) -> Any:
    """Each flow from its sender's capture, with the point of its run, in the workers."""
    frames = pytest.importorskip("dask.dataframe")
    dataset = pytest.importorskip("pyarrow.dataset")
    base = str(made / "tables")
    files = sorted(map(str, made.glob("tables/*/*/flows.parquet")))

    def read(some: list[str]) -> Any:
        return (
            dataset.dataset(some, partitioning="hive", partition_base_dir=base)
            .to_table()
            .to_pandas()
        )

    rows = frames.from_map(read, [files[at::PARTS] for at in range(PARTS)])
    rows = rows.assign(host=rows.host.astype("string"), run=rows.run.astype("string"))
    rows = rows[rows.src_ip == rows.host.map(ADDRESSES, meta=("host", "string"))]
    runs = frames.read_parquet(f"{made}/tables/runs.parquet")
    runs = runs.assign(
        rtt_ms=runs.rtt_measured_ns / 1e6, rate_mbit_s=runs.rate_measured_bit_s / 1e6
    )
    return rows.merge(runs[["run", *POINT]], on="run").persist()


def asked(name: str, made: Path) -> pl.DataFrame:
    """Returns the rows of a query of flowsweep."""
    words = [*map(str, [*FLOWSWEEP, "query", name, made, "--format", "csv"])]
    done = subprocess.run(words, check=True, capture_output=True, timeout=300)
    return pl.read_csv(io.BytesIO(done.stdout), infer_schema_length=None)


def test_totals(flows: Any, made: Path) -> None:
    wire_bytes = flows.wire_bytes
    sums = flows.assign(
        in_mb=wire_bytes.where(flows.dst_ip == SHOWN, 0) / 1e6,
        out_mb=wire_bytes.where(flows.src_ip == SHOWN, 0) / 1e6,
        all_mb=wire_bytes / 1e6,
        all_packets=flows.packets,
    )
    columns = ["in_mb", "out_mb", "all_mb", "all_packets"]
    by_run = sums.groupby([*POINT, "run"])[columns].sum().reset_index()
    found = by_run.groupby(POINT)[columns].median().round(4).reset_index().compute()
    assert_frame_equal(
        pl.from_pandas(found).sort(POINT).cast({"all_packets": pl.Int64}),
        asked("totals", made).select(*POINT, *columns).sort(POINT),
        abs_tol=1e-4,
    )
    assert len(found) == 100


def test_flow_sizes(flows: Any, made: Path) -> None:
    columns = ["run", "direction", "payload_bytes", "duration_s", "share"]
    rows = flows.assign(duration_s=flows.duration_ns / 1e9, share=0.0)

    def shared(group: Any) -> Any:
        """Adds the share of flows of the point and direction that are at most as large."""
        return group.assign(share=group.payload_bytes.rank(method="max", pct=True))[columns]

    kinds = {name: rows.dtypes[name] for name in columns}
    found = rows.groupby([*POINT, "direction"])[columns].apply(shared, meta=kinds).compute()
    assert len(found) == RUNS * 10
    wanted = asked("flow_sizes", made).select(columns)
    found = pl.from_pandas(found.reset_index(drop=True)).cast(dict(wanted.schema))
    assert_frame_equal(found.sort(columns), wanted.sort(columns), abs_tol=1e-6)
