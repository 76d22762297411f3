"""`flowsweep report` with captures in place of results parses them and writes a report."""

from __future__ import annotations

import os
import re
import shutil
import struct
from pathlib import Path

import forks
import pytest

from flowsweep.cli import captures_alone
from flowsweep.files import file_sets
from flowsweep.warehouse import Warehouse

CAPTURES = Path(__file__).parents[1] / "data" / "threads"
FIRST, SECOND = CAPTURES / "01-late-syn.pcap", CAPTURES / "04-replayed.pcap"
LOG = """{"ts":1.0,"uid":"C1","id.orig_h":"10.0.0.1","id.orig_p":1000,"id.resp_h":"10.0.0.2",\
"id.resp_p":80,"proto":"tcp","duration":2.0,"orig_bytes":100,"resp_bytes":9000,"orig_pkts":5,\
"orig_ip_bytes":300,"resp_pkts":8,"resp_ip_bytes":9320}
"""
#: Its column `filename` has the name that DuckDB gives to the file of a row.
FILES = '{"ts":1.0,"fuid":"F1","uid":"C1","source":"HTTP","filename":"a.txt","seen_bytes":9000}\n'


def report(folder: Path, captures: str) -> tuple[int, str, str]:
    """Runs the command; returns its exit code, its output and its errors."""
    done = forks.run("flowsweep", "report", captures, cwd=folder)
    return done.returncode, done.stdout, done.stderr


def _shift(capture: Path, days: int) -> None:
    """Moves all packets of a little-endian pcap to `days` later."""
    data = bytearray(capture.read_bytes())
    at = 24
    while at < len(data):
        seconds, _, captured, _ = struct.unpack_from("<4I", data, at)
        struct.pack_into("<I", data, at, seconds + 86_400 * days)
        at += 16 + captured
    capture.write_bytes(data)


def test_a_capture_and_a_folder_of_captures_have_a_report(tmp_path: Path) -> None:
    shutil.copy(FIRST, tmp_path / "one.pcap")
    code, path, errors = report(tmp_path, "one.pcap")
    assert (code, path) == (0, "results/one/report.html\n"), errors
    (row,) = Warehouse(tmp_path / "results/one").rows("totals").to_dicts()
    assert (row["run"], row["host"], row["all_packets"]) == ("one", "one", 8)

    (tmp_path / "both").mkdir()
    for name, capture in (("client", FIRST), ("server", SECOND)):
        shutil.copy(capture, tmp_path / "both" / f"{name}.pcap")
    code, path, errors = report(tmp_path, "both")
    assert (code, path) == (0, "results/both/report.html\n"), errors
    page = (tmp_path / path.strip()).read_bytes()
    quality = Warehouse(tmp_path / "results/both").rows("run_quality")
    assert set(quality["host"]) == {"client", "server"}
    assert report(tmp_path, "both")[0] == 0
    assert (tmp_path / path.strip()).read_bytes() == page

    # Captures of different times are separate runs; the last one left has the folder's name again.
    _shift(tmp_path / "both" / "client.pcap", days=3)
    assert report(tmp_path, "both")[0] == 0
    totals = Warehouse(tmp_path / "results/both").rows("totals")
    assert set(totals.select("run", "host").iter_rows()) == {(n, n) for n in ("client", "server")}
    (tmp_path / "both" / "client.pcap").unlink()
    assert report(tmp_path, "both")[0] == 0
    (row,) = Warehouse(tmp_path / "results/both").rows("totals").to_dicts()
    assert (row["run"], row["host"]) == ("both", "server")
    page = (tmp_path / path.strip()).read_bytes()

    # Another folder of the same name does not replace these results.
    (tmp_path / "other").mkdir()
    shutil.move(tmp_path / "both", tmp_path / "other" / "both")
    code, _, errors = report(tmp_path, "other/both")
    assert code == 2
    assert "results/both: the results here are of something else" in errors
    assert (tmp_path / path.strip()).read_bytes() == page


def test_a_damaged_capture_has_a_report_and_an_exit_code(tmp_path: Path) -> None:
    (tmp_path / "cut.pcap").write_bytes(FIRST.read_bytes()[:300])
    code, path, errors = report(tmp_path, "cut.pcap")
    assert code == 1
    assert "cut.pcap: damaged" in errors
    assert (tmp_path / path.strip()).is_file()


def test_a_file_that_is_no_capture_is_left_out_where_there_are_others(tmp_path: Path) -> None:
    (tmp_path / "both").mkdir()
    shutil.copy(FIRST, tmp_path / "both" / "client.pcap")
    (tmp_path / "both" / "notes.pcap").write_text("no capture")
    code, path, errors = report(tmp_path, "both")
    assert code == 1
    assert "error: both/notes.pcap: not a packet capture" in errors
    assert "note: the report leaves out 1 file" in errors
    (row,) = Warehouse((tmp_path / path.strip()).parent).rows("totals").to_dicts()
    assert row["host"] == "client"


def test_captures_of_several_times_are_parsed_once(tmp_path: Path) -> None:
    """Their damage is reported once, and a numbered run takes no host's name."""
    (tmp_path / "set").mkdir()
    for name, days in (("set", 0), ("set-1", 9), ("a", 20), ("b", 20)):
        capture = tmp_path / "set" / f"{name}.pcap"
        shutil.copy(FIRST, capture)
        _shift(capture, days)
    cut = tmp_path / "set" / "set-1.pcap"
    cut.write_bytes(cut.read_bytes()[:300])
    code, path, errors = report(tmp_path, "set")
    assert code == 1
    assert errors.count("set-1.pcap: damaged") == 1
    why = "as not all captures overlap in time and share an address"
    assert f"note: 3 runs, {why}: set, set-1, set-2 (a, b)\n" in errors
    hosts = Warehouse((tmp_path / path.strip()).parent).rows("run_quality")
    expected = {("set", "set"), ("set-1", "set-1"), ("set-2", "a"), ("set-2", "b")}
    assert set(hosts.select("run", "host").iter_rows()) == expected


def test_a_kill_while_runs_are_divided_leaves_no_host_in_two_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the tables next finishes the division."""
    (tmp_path / "set").mkdir()
    for name, days in (("a", 0), ("b", 9), ("set", 20)):
        shutil.copy(FIRST, tmp_path / "set" / f"{name}.pcap")
        _shift(tmp_path / "set" / f"{name}.pcap", days)
    assert report(tmp_path, "set")[0] == 0
    tables = tmp_path / "results/set/tables"
    (tables / "run=a" / "host=a").rename(tables / "run=set" / "host=a")
    (tables / "run=b" / "host=b").rename(tables / "run=set" / "host=b")
    for name in ("a", "b"):
        (tables / f"run={name}").rmdir()
    rename, moved = Path.rename, []

    def stop(path: Path, target: Path) -> Path:
        if Path(target).parent == tables:
            moved.append(path)
            if len(moved) == 2:
                raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", stop)
    with pytest.raises(KeyboardInterrupt):
        captures_alone._divide(tables, "set", {name: [name] for name in ("a", "b", "set")})
    monkeypatch.undo()
    with file_sets.reading(tables):
        found = {path.relative_to(tables).as_posix() for path in tables.glob("run=*/host=*")}
    assert found == {f"run={name}/host={name}" for name in ("a", "b", "set")}


def test_results_to_compare_with_are_checked_before_captures_are_parsed(tmp_path: Path) -> None:
    shutil.copy(FIRST, tmp_path / "one.pcap")
    done = forks.run("flowsweep", "report", "one.pcap", "--against", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert "nowhere: no such file or folder" in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("name", "given", "run"),
    [
        ("sensor.conn.log", "logs", "logs"),
        # Zeek writes a file of this name into its working directory.
        ("conn.log", "logs", "logs"),
        ("conn.2026-11-24-10-00-00.log", "logs/conn.2026-11-24-10-00-00.log", "conn"),
    ],
)
def test_logs_of_zeek_have_a_report(name: str, given: str, run: str, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / name).write_text(LOG)
    (tmp_path / "logs" / "files.log").write_text(FILES)
    code, path, errors = report(tmp_path, given)
    assert (code, path) == (0, f"results/{run}/report.html\n"), errors
    page = (tmp_path / path.strip()).read_text()
    assert re.search(r"<b>9\.10\skB</b> of payload in 13\spackets", page)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("notes.txt", ["notes.txt: not a packet capture"]),
        ("zero.pcap", ["zero.pcap: not a packet capture", "an empty file"]),
        ("notes.log", ["notes.log: no conn.log of Zeek"]),
        ("http", ["http: no conn.log of Zeek", "http.log", "flowsweep zeek-logs"]),
        ("empty", ["there are no tables here", "flowsweep report CAPTURES"]),
        ("nowhere.pcap", ["nowhere.pcap: no such file or folder"]),
        ("pipe.pcap", ["there are no tables here"]),
        # A results folder without tables is not taken for a folder of captures.
        ("runs", ["there are no tables here", "snakemake --configfile"]),
        ("results/own", ["the captures lie where their results would"]),
    ],
)
def test_what_holds_no_captures_is_refused(name: str, words: list[str], tmp_path: Path) -> None:
    for file in ("notes.txt", "notes.log"):
        (tmp_path / file).write_text("no capture")
    (tmp_path / "zero.pcap").touch()
    os.mkfifo(tmp_path / "pipe.pcap")
    for folder in ("empty", "http", "runs/runs/r", "results/own"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "http" / "http.log").write_text('{"ts":1.0,"uid":"C1","host":"a"}\n')
    for folder in ("runs/runs/r", "results/own"):
        shutil.copy(FIRST, tmp_path / folder / "pc.pcap")
    code, output, errors = report(tmp_path, name)
    assert (code, output) == (2, "")
    for expected in words:
        assert expected in errors
    assert not [*tmp_path.glob("results/*/tables")]


def test_hosts_of_one_time_are_one_run_and_what_others_put_there_stays(tmp_path: Path) -> None:
    folder = tmp_path / "some"
    (folder / "a").mkdir(parents=True)
    # All files of a folder belong to one host, whatever the time between them.
    for name, days in (("a/1", 0), ("a/2", 4), ("b", 0), ("c", 9)):
        shutil.copy(FIRST, folder / f"{name}.pcap")
        _shift(folder / f"{name}.pcap", days)
    (folder / "silent.pcap").write_bytes(FIRST.read_bytes()[:24])
    assert report(tmp_path, "some")[0] == 0
    results = tmp_path / "results/some"
    hosts = Warehouse(results).rows("run_quality").select("run", "host").unique()
    assert set(hosts.iter_rows()) == {
        ("some-1", "a"), ("some-1", "b"), ("c", "c"), ("silent", "silent"),
    }  # fmt: skip
    (results / "runs/c/notes.txt").write_text("mine")
    (results / "runs/link").symlink_to(tmp_path)
    (folder / "c.pcap").unlink()
    assert report(tmp_path, "some")[0] == 0
    assert [path.name for path in results.glob("tables/run=*")] == ["run=some"]
    hosts = Warehouse(results).rows("run_quality")["host"]
    assert set(hosts.drop_nulls()) == {"a", "b", "silent"}
    assert (results / "runs/c/notes.txt").exists()
