"""Which files of a run's folder are captures, and of which host."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsweep.runs.run_folder import captures_by_host, recorded_files


def made(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def by_name(found: dict[str, list[Path]]) -> dict[str, list[str]]:
    return {host: [path.name for path in paths] for host, paths in found.items()}


@pytest.mark.parametrize("container", ["pcap", "pcapng", "cap"])
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


def test_a_host_called_like_a_part_is_a_host_where_the_first_part_is_not(tmp_path: Path) -> None:
    assert list(captures_by_host(made(tmp_path, "node-00001.pcap", "node-00002.pcap"))) == [
        "node-00001",
        "node-00002",
    ]


def test_the_workflow_reads_what_ingest_reads(tmp_path: Path) -> None:
    made(tmp_path, "pc1.cap", "pc2.pcap", "pc2-00001.pcap", "pc2.conn.log", ".x.pcap", "notes.txt")
    (tmp_path / "pc3.pcap").mkdir()
    assert by_name(recorded_files(tmp_path)) == {
        "pc1": ["pc1.cap"],
        "pc2": ["pc2-00001.pcap", "pc2.pcap", "pc2.conn.log"],
    }
