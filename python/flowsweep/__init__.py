"""What network does my distributed application need? Measured from packet captures of a sweep.

A capture (pcap or pcapng, also compressed) to tables:

    flows = flowsweep.read_flows("pc1.pcap.zst")
    polars.DataFrame(flows)
    duckdb.sql("select dst_port, sum(payload_bytes) from flows group by all")

`read_flows` and the other readers return objects that polars, DuckDB and pyarrow read through the
Arrow PyCapsule interface. A reader takes a capture, the parts of one capture, or a folder that
`parse` wrote.

Times are in nanoseconds. DuckDB 2.0 has few functions for such times: `max(time) - min(time)`,
`date_trunc`, `time_bucket` and `epoch` fail. With `time_unit="us"` a reader rounds to microseconds,
and all of DuckDB's functions work; in SQL over Parquet files, `time::timestamptz` does the same.

    packets = flowsweep.read_packets("pc1.pcap.zst", time_unit="us")
    duckdb.sql("select time_bucket(interval '1s', time), count(*) from packets group by all")

The results of a sweep, as `snakemake` or `flowsweep watch` leaves them, with the report's queries:

    results = flowsweep.open("results/demo")
    results.rows("thresholds")
    results.sql("select run, completion_s from runs where is_valid")

The command line does the rest: `flowsweep --help`. `pip install 'flowsweep[report]'` adds what
reports need, `'flowsweep[sweep]'` what sweeps need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowsweep.captures import (
        DamagedCaptureWarning,
        ParquetTable,
        Table,
        read_captures,
        read_clocks,
        read_fates,
        read_flows,
        read_intervals,
        read_messages,
        read_one_way,
        read_packets,
        read_rdma,
        read_throughput,
    )
    from flowsweep.errors import FlowsweepError
    from flowsweep.parsed import Parsed, parse
    from flowsweep.plain_readers import reading
    from flowsweep.results import Results, open  # noqa: A004

    __version__: str

#: The module of each public name.
_MODULES = {
    "DamagedCaptureWarning": "captures",
    "FlowsweepError": "errors",
    "ParquetTable": "captures",
    "Parsed": "parsed",
    "Results": "results",
    "Table": "captures",
    "open": "results",
    "parse": "parsed",
    "read_captures": "captures",
    "read_clocks": "captures",
    "read_fates": "captures",
    "read_flows": "captures",
    "read_intervals": "captures",
    "read_messages": "captures",
    "read_one_way": "captures",
    "read_packets": "captures",
    "read_rdma": "captures",
    "read_throughput": "captures",
    "reading": "plain_readers",
}
__all__ = [
    "DamagedCaptureWarning",
    "FlowsweepError",
    "ParquetTable",
    "Parsed",
    "Results",
    "Table",
    "__version__",
    "open",
    "parse",
    "read_captures",
    "read_clocks",
    "read_fates",
    "read_flows",
    "read_intervals",
    "read_messages",
    "read_one_way",
    "read_packets",
    "read_rdma",
    "read_throughput",
    "reading",
]


def __getattr__(name: str) -> object:
    """Loads a public name at its first use, which keeps the import of the package fast."""
    if name == "__version__":
        from importlib.metadata import version

        return version("flowsweep")
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(f"flowsweep.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Lists public names even before they are loaded, for `help` and completion."""
    return sorted({*globals(), *__all__})
