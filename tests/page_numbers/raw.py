"""The raw tables of the captured demo, read with polars alone.

The checks here keep the recomputations simple, as they need no rules for cases that the demo does
not have: every run is valid, every host was captured, all traffic is TCP, all bins are 10 ms wide.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

BIN_NS = 10_000_000
#: Axes that no run of the demo has.
ABSENT = (
    "buffer_bytes", "loss", "jitter_ms", "jitter_share", "links", "congestion", "variant",
    "hosts_per_site", "ranks", "ranks_per_host", "placement", "schedule", "beside_app",
)  # fmt: skip
#: By unit: the suffixes that a record may use, longer ones first, with their factors.
UNITS = {
    "ms": {"us": 1e-3, "ms": 1.0},
    "Mbit/s": {"Mbit/s": 1.0},
}


@dataclass(frozen=True)
class Raw:
    """The tables under DIR/tables.

    Attributes:
        directory: results/<experiment>.
    """

    directory: Path

    def table(self, name: str) -> pl.DataFrame:
        """Returns all rows of one kind of table, with `run` and `host`."""
        found = [
            pl.read_parquet(path, hive_partitioning=False).with_columns(
                run=pl.lit(path.parts[-3].removeprefix("run=")),
                host=pl.lit(path.parts[-2].removeprefix("host=")),
            )
            for path in sorted((self.directory / "tables").glob(f"run=*/host=*/{name}.parquet"))
        ]
        return pl.concat(found, how="vertical_relaxed")

    @cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """The run.json of each run."""
        runs = pl.read_parquet(self.directory / "tables/runs.parquet")
        return {row["run"]: json.loads(row["json"]) for row in runs.iter_rows(named=True)}

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run: its point, its completion time, and the work's first and last ns."""
        rows = []
        for run, record in self.records.items():
            assert record["status"] == "valid"
            assert not record["warmup"]
            rtt, rate = record["axes"]["rtt"], record["axes"]["rate"]
            rows.append(
                {
                    "run": run,
                    "app": record["app"],
                    "problem": ", ".join(f"{key} {one}" for key, one in record["problem"].items()),
                    "repetition": record["repetition"],
                    "block": record["block"],
                    "is_baseline": record["baseline"],
                    "rtt_asked_ms": _number(rtt["asked"], "ms"),
                    "rtt_ms": _number(rtt["measured"], "ms"),
                    "rate_asked_mbit_s": _number(rate["asked"], "Mbit/s"),
                    "rate_mbit_s": _number(rate["measured"], "Mbit/s"),
                    "queue_bytes": record["queue_bytes"],
                    "completion_s": record["completion_s"],
                    "compute": record["compute"],
                    "start_ns": _moment(record["start"]),
                    "work_start_ns": _moment(record["application"]["start"]),
                    "work_end_ns": _moment(record["application"]["end"]),
                }
            )
        frame = pl.DataFrame(rows)
        asked = frame.select("rate_asked_mbit_s", "rtt_asked_ms").unique()
        asked = asked.sort("rate_asked_mbit_s", "rtt_asked_ms", descending=[True, False])
        return frame.join(
            asked.with_row_index("point", 1).cast({"point": pl.Int64}),
            on=["rate_asked_mbit_s", "rtt_asked_ms"],
        ).sort("run")

    @cached_property
    def points(self) -> pl.DataFrame:
        """One row per point, with all columns that a query gives a point."""
        medians = self.runs.group_by("point", "app", "problem").agg(
            pl.col("is_baseline").any(),
            pl.col("rtt_asked_ms", "rate_asked_mbit_s", "queue_bytes").first(),
            pl.col("rtt_ms", "rate_mbit_s").median(),
        )
        return medians.with_columns(pl.lit(None).alias(name) for name in ABSENT)

    @cached_property
    def hosts(self) -> pl.DataFrame:
        """One row per run and host: site and address."""
        rows = [
            {"run": run, "owner": host["name"], "site": host["site"], "address": host["address"]}
            for run, record in self.records.items()
            for host in record["hosts"]
        ]
        return pl.DataFrame(rows)

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Each flow direction as each capture has it, with `sender`, `receiver` and their sites."""
        flows = self._between_hosts(self.table("flows"))
        assert set(flows["protocol"]) == {"tcp"}
        assert flows["sender"].null_count() + flows["receiver"].null_count() == 0
        return flows.with_columns(is_on_path=pl.col("from_site") != pl.col("to_site"))

    @cached_property
    def sent(self) -> pl.DataFrame:
        """Each flow direction once, from the capture of its sender."""
        return self.flows.filter(pl.col("sender") == pl.col("host"))

    @cached_property
    def bins(self) -> pl.DataFrame:
        """Each bin of 10 ms as each capture has it, with sender, receiver, and the run's time.

        `bin` counts from the one in which the work begins; the run has `bins` of them.
        """
        bins = self._between_hosts(self.table("throughput"))
        assert set(bins["bin_ns"]) == {BIN_NS}
        return bins.join(self.windows, on="run").with_columns(
            bin=pl.col("bin_start").dt.epoch("ns") // BIN_NS - pl.col("first_bin")
        )

    @cached_property
    def windows(self) -> pl.DataFrame:
        """One row per run: its first bin and its number of bins, partial ones included."""
        first, end = pl.col("work_start_ns") // BIN_NS, -(-pl.col("work_end_ns") // BIN_NS)
        return self.runs.select("run", "point", "work_start_ns", first_bin=first, bins=end - first)

    @cached_property
    def messages(self) -> pl.DataFrame:
        """Messages between the sites that began within the work, from the sender's capture."""
        keys = ["run", "host", "connection", "direction"]
        own = self.sent.filter("is_on_path").select(*keys)
        return (
            self.table("messages")
            .join(own, on=keys)
            .join(self.runs.select("run", "point", "work_start_ns", "work_end_ns"), on="run")
            .with_columns(first_ns=pl.col("first_time").dt.epoch("ns"))
            .filter(pl.col("first_ns").is_between("work_start_ns", "work_end_ns"))
        )

    def _between_hosts(self, frame: pl.DataFrame) -> pl.DataFrame:
        for column, name, site in (
            ("src_ip", "sender", "from_site"),
            ("dst_ip", "receiver", "to_site"),
        ):
            hosts = self.hosts.rename({"address": column, "owner": name, "site": site})
            frame = frame.join(hosts, on=["run", column], how="left")
        return frame

    @cached_property
    def shown_run(self) -> str:
        """The baseline run nearest to the median completion time, the first by name."""
        baseline = self.runs.filter("is_baseline")
        away = (pl.col("completion_s") - baseline["completion_s"].median()).abs()
        return baseline.sort(away, "run")["run"][0]

    @cached_property
    def shown_host(self) -> str:
        """The first host of the second site, the same in each run."""
        record = next(iter(self.records.values()))
        first = record["hosts"][0]["site"]
        return next(host["name"] for host in record["hosts"] if host["site"] != first)


def _number(text: str, unit: str) -> float:
    """Converts a quantity of a record to `unit`; knows the suffixes in the demo's records."""
    for written, factor in UNITS[unit].items():
        if text.endswith(written):
            return float(text.removesuffix(written)) * factor
    raise AssertionError(f"{text} is no quantity in {unit}")


def _moment(text: str) -> int:
    """Converts a time such as `2026-11-21T03:20:57.255647880Z` to nanoseconds since 1970."""
    return int(
        pl.Series([text])
        .str.to_datetime("%Y-%m-%dT%H:%M:%S%.9fZ", time_unit="ns")
        .dt.epoch("ns")[0]
    )
