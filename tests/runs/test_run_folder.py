"""Which files in a run's folder are captures, and of which host."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.parsing import read_drops
from flowsweep.runs.recordings import Recordings
from flowsweep.runs.run_folder import captures_by_host, recorded_files


def made(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def by_name(found: dict[str, list[Path]]) -> dict[str, list[str]]:
    return {host: [path.name for path in paths] for host, paths in found.items()}


@pytest.mark.parametrize("container", ["pcap", "pcapng", "cap", "dmp"])
@pytest.mark.parametrize("packed", ["", ".zst", ".gz", ".lz4", ".bz2", ".xz"])
def test_a_capture_is_of_the_host_that_its_name_says(
    tmp_path: Path, container: str, packed: str
) -> None:
    name = f"pc1.{container}{packed}"
    assert by_name(captures_by_host(made(tmp_path, name))) == {"pc1": [name]}


@pytest.mark.parametrize("number", ["-00001", ".1"])
def test_parts_of_a_rotated_capture_are_of_one_host(tmp_path: Path, number: str) -> None:
    made(tmp_path, "pc1.pcap", f"pc1{number}.pcap", "pc-2.cap")
    found = by_name(captures_by_host(tmp_path))
    assert {host: sorted(names) for host, names in found.items()} == {
        "pc-2": ["pc-2.cap"],
        "pc1": sorted(["pc1.pcap", f"pc1{number}.pcap"]),
    }


@pytest.mark.parametrize(
    "names",
    [
        # tcpdump -C 100, with -W 3, and with -z gzip
        ["pc1.pcap", "pc1.pcap1", "pc1.pcap10", "pc1.pcap2"],
        ["pc1.pcap0", "pc1.pcap1", "pc1.pcap2"],
        ["pc1.pcap1.gz", "pc1.pcap2"],
        # dumpcap -b, and with nametimenum:2
        ["pc1_00001_20260301120000.pcapng", "pc1_00002_20260301121000.pcapng"],
        ["pc1_20260301120000_00001.pcapng", "pc1_20260301121000_00002.pcapng"],
        # tcpdump -G 600 -w pc1-%Y%m%d-%H%M%S.pcap, -w pc1_%F_%H:%M.pcap, -w pc1.%FT%TZ.pcap
        ["pc1-20260301-120000.pcap", "pc1-20260301-121000.pcap"],
        ["pc1_2026-03-01_12:00.pcap.zst", "pc1_2026-03-01_12:10.pcap"],
        ["pc1.2026-03-01T12:00:00Z.pcap", "pc1.2026-03-01T12:10:00Z.pcap"],
        # tcpdump -G 600 -w pc1-%s.pcap
        ["pc1-1772366400.pcap", "pc1-1772367000.pcap"],
        ["pc1.1772366400.pcap1", "pc1.1772367000.pcap"],
    ],
    ids=lambda names: names[0],
)
def test_files_of_tcpdump_and_dumpcap_are_of_one_host(tmp_path: Path, names: list[str]) -> None:
    assert by_name(captures_by_host(made(tmp_path, *names))) == {"pc1": sorted(names)}


@pytest.mark.parametrize(
    "host",
    [
        "node-2026", "pc1_1611335823_0C2DA8", "rack-20260301", "pc.99991301-120000",
        "vm-10023456-123456", "pc1-20261301-120000", "pc1-20260100-120000", "pc1-20260301-250000",
    ],
)  # fmt: skip
def test_a_number_that_is_no_time_is_the_hosts(tmp_path: Path, host: str) -> None:
    assert list(captures_by_host(made(tmp_path, f"{host}.pcap"))) == [host]


def test_a_host_called_like_a_part_is_a_host_where_the_first_part_is_not(tmp_path: Path) -> None:
    assert list(captures_by_host(made(tmp_path, "node-00001.pcap", "node-00002.pcap"))) == [
        "node-00001",
        "node-00002",
    ]


def test_parts_that_a_ring_left_are_of_the_host_of_their_manifest(tmp_path: Path) -> None:
    names = ["pc1-00003.pcap", "pc1-00004.pcap"]
    made(tmp_path, *names, "pc1.capture.json")
    assert by_name(captures_by_host(tmp_path)) == {"pc1": names}


def test_the_earliest_part_that_is_left_has_the_counters(tmp_path: Path) -> None:
    names = ["pc1-00003.pcap", "pc1-00004.pcap"]
    made(tmp_path, *names)
    (tmp_path / "pc1.capture.json").write_text('{"dropped_kernel": 777, "dropped_interface": 3}')
    third, fourth = ((tmp_path / name, name) for name in names)
    assert read_drops([third, fourth]) == {names[0]: (777, 3), names[1]: (0, 0)}
    assert read_drops([fourth, third]) == {names[0]: (777, 3), names[1]: (0, 0)}
    # The manifest counts for the whole capture, of which this is a part.
    assert read_drops([fourth]) == {names[1]: (None, None)}
    made(tmp_path, "pc1.pcap")
    first = (tmp_path / "pc1.pcap", "pc1.pcap")
    assert read_drops([third, first]) == {names[0]: (0, 0), "pc1.pcap": (777, 3)}
    assert read_drops([third]) == {names[0]: (None, None)}


def test_the_workflow_reads_what_ingest_reads(tmp_path: Path) -> None:
    made(tmp_path, "pc1.cap", "pc2.pcap", "pc2-00001.pcap", "pc2.conn.log", ".x.pcap", "notes.txt")
    (tmp_path / "pc3.pcap").mkdir()
    made(tmp_path, "pc1/eth0.pcap", "pc1/eth0.pcap1", "pc4/trace.pcapng", ".pc5/trace.pcap")
    assert by_name(recorded_files(tmp_path)) == {
        "pc1": ["eth0.pcap", "eth0.pcap1", "pc1.cap"],
        "pc2": ["pc2-00001.pcap", "pc2.pcap", "pc2.conn.log"],
        "pc4": ["trace.pcapng"],
    }


def test_a_capture_that_is_passed_over_for_its_name_is_reported(
    tmp_path: Path, command: Any
) -> None:
    frame = bytes(60)
    packet = struct.pack("<4I", 1_767_225_600, 0, len(frame), len(frame)) + frame
    capture = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1) + packet
    (tmp_path / "r").mkdir()
    for name in ("pc1.pcap", "pc1.pcap1", "pc2.trace", ".pc3"):
        (tmp_path / "r" / name).write_bytes(capture)
    (tmp_path / "r" / "pc4.out").write_bytes(gzip.compress(capture))
    (tmp_path / "r" / "notes.txt").write_text("pc1 was slow\n")
    (tmp_path / "r" / "conn.log.gz").touch()
    (tmp_path / "r" / "pc5").mkdir()
    (tmp_path / "r" / "pc5" / "eth0").write_bytes(capture)
    done = command("flowsweep", "ingest", tmp_path / "r", "-o", tmp_path / "tables")
    assert done.returncode == 0
    first, *notes = done.stderr.splitlines()
    assert first.startswith("r: 1 host, 2 packets")
    notes_on = [line.removeprefix(f"note: {tmp_path}/r/") for line in notes if "note:" in line]
    assert notes_on == [
        "conn.log.gz: passed over, as it does not say of which host it is",
        *(
            f"{name}: passed over, though it begins like a capture"
            for name in ("pc2.trace", "pc4.out", "pc5/eth0")
        ),
    ]


def test_a_folder_of_runs_is_no_run(tmp_path: Path) -> None:
    """Each run would be taken for a host, and its hosts for parts of one capture."""
    for name in ("a run", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pc1.pcap").touch()
    assert {*Recordings.in_folder(tmp_path).captures} == {"a run", "b"}
    (tmp_path / "a run" / "run.json").touch()
    with pytest.raises(FlowsweepError, match="a folder of runs, not of captures") as caught:
        Recordings.in_folder(tmp_path)
    assert f"name one run, such as '{tmp_path}/a run'" in str(caught.value)
    (tmp_path / "run.json").touch()
    assert {*Recordings.in_folder(tmp_path).captures} == {"a run", "b"}
