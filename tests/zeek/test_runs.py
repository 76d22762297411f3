"""An experiment of Zeek's logs alone, and of captures with logs."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
import subprocess
from pathlib import Path

import forks
import polars as pl
import pytest
from collection import PCAPS, ZEEK_LOGS, by_size

from flowsweep.analysis import grades
from flowsweep.captures import DamagedCaptureError
from flowsweep.cli import ingest
from flowsweep.render import page
from flowsweep.results import Results
from flowsweep.runs.run_folder import recorded_files
from flowsweep.warehouse import Warehouse
from flowsweep.zeek import hosts

CONN = {
    "ts": 1.5, "uid": "C1", "id.orig_h": "10.0.0.1", "id.orig_p": 4000, "id.resp_h": "10.0.0.2",
    "id.resp_p": 80, "proto": "tcp", "duration": 2.0, "orig_bytes": 10, "resp_bytes": 20,
    "conn_state": "SF", "missed_bytes": 0, "history": "ShADadFf", "orig_pkts": 4,
    "orig_ip_bytes": 218, "resp_pkts": 3, "resp_ip_bytes": 176, "service": "http",
}  # fmt: skip
HTTP = {"ts": 1.6, "uid": "C1", "method": "GET", "uri": "/a"}

#: Classes of differences that occur only in the larger set of captures.
LARGER = [
    ("blitz-tcptrace/long_rtt.dmp.gz", {"packets, beyond the frame": 1}),
    ("blitz-tcptrace/pcap_v2.2.dmp.gz", {"packets, cut": 2}),
    ("simsong-tcpflow/bug7.pcap", {"bytes, no length": 1}),
    ("zeek-zeek/ip6_esp.pcap", {"ours alone, no transport": 12, "payload unknown": 1}),
    ("kbandla-dpkt/nb6-http.pcap",
     {"ours alone, tunnel": 1, "packets, tunnel": 1, "duration": 2, "payload unknown": 1,
      "the same": 8}),
    ("ntop-nDPI/teredo.pcap", {"Zeek's alone, tunnel": 4, "the same": 5}),
]  # fmt: skip


def flowsweep(*arguments: object) -> subprocess.CompletedProcess[str]:
    return forks.run("flowsweep", *arguments)


def write(path: Path, *rows: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def notebook_cell(word: str) -> list[str]:
    """Returns the lines of the cell in 04-your-own-question.ipynb that contains this word."""
    notebook = json.loads(
        (Path(__file__).parents[2] / "notebooks/04-your-own-question.ipynb").read_text()
    )
    (lines,) = (cell["source"] for cell in notebook["cells"]
                if cell["cell_type"] == "code" and word in "".join(cell["source"]))  # fmt: skip
    return lines


def ingested(folder: Path) -> Path:
    for run in sorted((folder / "runs").iterdir()):
        done = flowsweep("ingest", run, "-o", folder / "tables")
        assert done.returncode == 0, done.stderr
    done = flowsweep("runs", folder / "runs", "-o", folder / "tables/runs.parquet")
    assert done.returncode == 0, done.stderr
    return folder


def test_logs_belong_to_the_host_before_their_kind_or_of_their_folder(tmp_path: Path) -> None:
    names = ["pc1.conn.log", "pc1.http.log.gz", "pc.2.conn.2026-11-24-10-00-00.log", "conn.log"]
    names += ["pc3/conn.log", "pc3/2026-11-24/dns.10:00:00-11:00:00.log.gz", ".x.conn.log"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = hosts.logs_by_host(tmp_path)
    assert {host: len(files) for host, files in found.items()} == {"pc.2": 1, "pc1": 2, "pc3": 2}
    assert list(recorded_files(tmp_path)) == ["pc.2", "pc1", "pc3"]


@pytest.mark.parametrize(
    "host", ["vm-10023456", "vm-20261124", "vm-2026-13-24", "pc_10_20", "vm-20261124-100000"]
)
def test_a_number_before_the_kind_is_part_of_the_hosts_name(tmp_path: Path, host: str) -> None:
    names = ["conn.log", "http.2026-11-24-10-00-00.log.gz", "dns.10:00:00-11:00:00.log"]
    for name in names:
        (tmp_path / f"{host}.{name}").touch()
    assert {own: len(files) for own, files in hosts.logs_by_host(tmp_path).items()} == {host: 3}


def test_a_folder_of_logs_leads_to_its_flow_figures(tmp_path: Path) -> None:
    for run in ("r1", "r2"):
        write(tmp_path / f"runs/{run}/pc1.conn.log.gz", CONN, CONN | {"uid": "C2", "ts": 2.5})
        write(tmp_path / f"runs/{run}/pc1.http.log", HTTP)
    warehouse = Warehouse(ingested(tmp_path))
    rows = warehouse.rows("flow_sizes")
    assert sorted(rows["payload_bytes"]) == [10, 10, 10, 10, 20, 20, 20, 20]
    assert warehouse.rows("zeek_conn").height == 4
    joined = warehouse.select(
        "select flows.payload_bytes, zeek_http.uri from flows"
        " inner join zeek_http using (run, host, uid) order by all"
    )
    assert joined.rows() == [(10, "/a"), (10, "/a"), (20, "/a"), (20, "/a")]
    names = {"results": Results(warehouse.directory)}
    exec("".join(notebook_cell("zeek_conn")), names)
    assert names["services"].rows() == [("http", "SF", 120)]  # type: ignore[attr-defined]
    made = page.build(tmp_path)
    assert made.contradictions == []
    assert "Of Zeek's flows the duration is that of their connection." in made.html.replace(
        "&#39;", "'"
    )


@pytest.mark.parametrize(
    ("missed", "stats", "grade", "reasons"),
    [
        (0, None, grades.UNKNOWN, "the capture does not say whether packets were dropped"),
        (0, [0, 0], "A", ""),
        (0, [0, 7], "D", "7 packets dropped by kernel or interface (50.0 %)"),
        (10, [0], "D", "10 bytes of TCP in gaps that Zeek did not see (33.3 %)"),
    ],
)
def test_logs_alone_have_a_grade_and_show_says_the_same(
    tmp_path: Path, missed: int, stats: list[int] | None, grade: str, reasons: str
) -> None:
    conn = tmp_path / "runs/r1/pc1.conn.log"
    write(conn, CONN | {"missed_bytes": missed})
    if stats is not None:
        rows = [{"ts": 1.0 + at, "pkts_dropped": many} for at, many in enumerate(stats)]
        write(tmp_path / "runs/r1/pc1.stats.log", *rows)
    (row,) = Warehouse(ingested(tmp_path)).rows("run_quality").rows(named=True)
    assert (row["grade"], row["grade_reasons"]) == (grade, reasons)
    (shown,) = json.loads(flowsweep("show", "--format", "json", conn).stdout)
    assert (shown["grade"], shown["reasons"]) == (grade, reasons)
    assert f"quality {grade}: {reasons or 'nothing to note'}" in flowsweep("show", conn).stdout


def test_logs_that_went_take_their_tables_with_them(tmp_path: Path) -> None:
    write(tmp_path / "runs/r1/pc1.conn.log", CONN)
    write(tmp_path / "runs/r1/pc1.http.log", HTTP)
    ingested(tmp_path)
    assert (tmp_path / "tables/run=r1/host=pc1/zeek_http.parquet").exists()
    (tmp_path / "runs/r1/pc1.http.log").unlink()
    ingested(tmp_path)
    assert not (tmp_path / "tables/run=r1/host=pc1/zeek_http.parquet").exists()
    assert (tmp_path / "tables/run=r1/host=pc1/zeek_conn.parquet").exists()


def test_beside_a_capture_flows_are_the_native_ones(tmp_path: Path) -> None:
    capture = "CESNET-ipfixprobe/functional/inputs/http.pcap"
    run = tmp_path / "runs/r1"
    run.mkdir(parents=True)
    shutil.copy(PCAPS / capture, run / "pc1.pcap")
    shutil.copy(ZEEK_LOGS / capture / "conn.log.gz", run / "pc1.conn.log.gz")
    warehouse = Warehouse(ingested(tmp_path))
    native = warehouse.select("select * from file_flows")
    assert native["wire_bytes"].null_count() == 0
    assert "uid" not in native.columns
    heading = "8 of 9 connections are the same (88.9 %), 1 more in packets and bytes of IP"
    assert heading in page.build(tmp_path).html.replace("\u00a0", " ")
    zeek = pl.read_parquet(tmp_path / "tables/run=r1/host=pc1/zeek_flows.parquet")
    assert zeek["packets"].sum() == native["packets"].sum() == 46


def test_a_log_with_community_ids_has_those_of_our_ends(tmp_path: Path) -> None:
    capture = "CESNET-ipfixprobe/functional/inputs/http.pcap"
    host = tmp_path / "runs/r1/pc1"
    host.mkdir(parents=True)
    shutil.copy(PCAPS / capture, host.parent / "pc1.pcap")
    log = gzip.decompress((ZEEK_LOGS / capture / "conn.log.gz").read_bytes()).decode()
    (host / "conn.log").write_text(log)
    plain = Warehouse(ingested(tmp_path)).rows("agreement")
    assert plain["zeek_community_id"].null_count() == plain.height
    ids = dict(plain.select("uids", "community_id").rows())
    lines = []
    for line in log.splitlines():
        uid = line.partition("\t")[2].partition("\t")[0]
        more = {"#fields": "community_id", "#types": "string"}.get(line.partition("\t")[0])
        more = more or (ids[uid] if not line.startswith("#") else None)
        lines.append(line if more is None else f"{line}\t{more}")
    (host / "conn.log").write_text("\n".join(lines) + "\n")
    rows = Warehouse(ingested(tmp_path)).rows("agreement")
    assert rows["zeek_community_id"].equals(rows["community_id"], check_names=False)
    assert rows["community_id"].null_count() == 0


def differences(tmp_path: Path, capture: str) -> dict[str, int]:
    """Returns the classes of `agreement` between a shared capture and Zeek's log of it."""
    run = tmp_path / "runs/r1"
    run.mkdir(parents=True)
    shutil.copy(PCAPS / capture, run / "pc1.pcap")
    shutil.copy(ZEEK_LOGS / capture / "conn.log.gz", run / "pc1.conn.log.gz")
    rows = Warehouse(ingested(tmp_path)).rows("agreement")
    return dict(rows.group_by("class").len().iter_rows())


@pytest.mark.parametrize(
    ("capture", "classes"),
    [
        ("CESNET-ipfixprobe/functional/inputs/http.pcap", {"the same": 8, "payload unknown": 1}),
        ("OISF-suricata-verify/vxlan-decoder-03/vxlan.pcap",
         {"the same": 10, "duration": 3, "Zeek's alone, tunnel": 13}),
        ("brimdata-brimcap/non-overlap.pcapng", {"the same": 1, "direction turned": 1}),
        ("seladb-PcapPlusPlus/Packet++Test/PacketExamples/ipv6_options.pcap",
         {"other addresses": 6, "payload unknown": 3}),
        *by_size([], LARGER),
    ],
)  # fmt: skip
def test_each_difference_has_its_class(
    tmp_path: Path, capture: str, classes: dict[str, int]
) -> None:
    assert differences(tmp_path, capture) == classes


def test_every_class_says_where_it_comes_from(tmp_path: Path) -> None:
    """Over all captures with Zeek's logs: every difference has a specific reason."""
    for number, log in enumerate(sorted(ZEEK_LOGS.rglob("conn.log.gz"))):
        run = tmp_path / f"runs/r{number:03}"
        run.mkdir(parents=True)
        shutil.copy(PCAPS / log.parent.relative_to(ZEEK_LOGS), run / "pc1.pcap")
        shutil.copy(log, run / "pc1.conn.log.gz")
        with contextlib.suppress(DamagedCaptureError):
            ingest.ingest(run_dir=run, output=tmp_path / "tables", engine="native")
    assert (
        flowsweep("runs", tmp_path / "runs", "-o", tmp_path / "tables/runs.parquet").returncode == 0
    )
    rows = Warehouse(tmp_path).rows("agreement")
    assert rows.height >= by_size(small=50, large=11_901)
    assert not set(rows["class"]) & {"packets", "bytes", "ours alone", "Zeek's alone"}
