"""Floods against a memory limit: one error that names the cause, and no files left."""

from __future__ import annotations

import lzma
import resource
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

PACKETS = 400_000
MB = 1 << 20


def flood(kind: str) -> bytes:
    """Returns one connection per packet: SYNs, or UDP inside VXLAN between new addresses."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 1)]
    ethernet = bytes(12) + b"\x08\x00"
    for number in range(PACKETS):
        if kind == "syn":
            # The port changes with every packet.
            ports = struct.pack(">HH", number % 50_000, 80)
            tcp = struct.pack(">IIBBHHH", 1, 0, 0x50, 2, 1000, 0, 0)
            frame = ethernet + _ip(6, 0x0A000000 + number // 50_000, 0x0A800001, ports + tcp)
        else:
            udp = struct.pack(">HHHH", 5, 53, 8, 0)
            inner = ethernet + _ip(17, 0x0A000000 + number, 0x0B000000 + number, udp)
            head = struct.pack(">HHHH", number % 50_000, 4789, 16 + len(inner), 0)
            vxlan = head + b"\x08\0\0\0\0\0\1\0" + inner
            frame = ethernet + _ip(17, 0x0C000000, 0x0D000001, vxlan)
        time = (1_700_000_000, number * 1000)
        parts.append(struct.pack("<IIII", *time, len(frame), len(frame)) + frame)
    return b"".join(parts)


def _ip(protocol: int, source: int, destination: int, content: bytes) -> bytes:
    fields = (0x45, 0, 20 + len(content), 0, 0, 64, protocol, 0, source, destination)
    return struct.pack(">BBHHHBBHII", *fields) + content


@pytest.fixture(scope="module", params=["syn", "vxlan"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("floods") / f"{request.param}.pcap.xz"
    path.write_bytes(lzma.compress(flood(request.param), preset=0))
    return path


def parse(
    capture: Path, output: Path, *options: object, limit: int | None = None, kind: int = 0
) -> subprocess.CompletedProcess[str]:
    """Runs `flowsweep parse`, optionally with a limit on its address space or data."""
    limits = limit and partial(resource.setrlimit, kind, (limit, limit))
    return subprocess.run(
        [sys.executable, "-m", "flowsweep", "parse", capture, "-o", output, *map(str, options)],
        capture_output=True, text=True, check=False, preexec_fn=limits, timeout=120,
    )  # fmt: skip


def is_out_of_memory(done: subprocess.CompletedProcess[str], output: Path) -> bool:
    """Asserts one error that names the memory's use and the place, and that no file is left."""
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("error:") == 1
    assert "error: out of memory at packet " in done.stderr
    assert " connections (" in done.stderr
    assert "byte " in done.stderr
    assert "--memory SIZE" in done.stderr
    assert [path for path in output.rglob("*") if path.is_file()] == []
    return True


@pytest.mark.parametrize("threads", [1, 2])
def test_a_flood_ends_at_the_memory_given(capture: Path, tmp_path: Path, threads: int) -> None:
    options = ("--memory", "64MiB", "--threads", threads)
    done = parse(capture, tmp_path, *options, limit=3 << 30, kind=resource.RLIMIT_AS)
    assert is_out_of_memory(done, tmp_path)
    assert "at most 67 MB, as --memory says" in done.stderr


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("megabytes", [300, 500])
@pytest.mark.parametrize("kind", [resource.RLIMIT_AS, resource.RLIMIT_DATA])
def test_a_flood_ends_before_a_limit_of_the_process_ends_it(
    capture: Path, tmp_path: Path, threads: int, megabytes: int, kind: int
) -> None:
    limit = megabytes * MB - (150 * MB if kind == resource.RLIMIT_DATA else 0)
    done = parse(capture, tmp_path, "--threads", threads, limit=limit, kind=kind)
    assert is_out_of_memory(done, tmp_path)
    assert "three quarters of what ulimit -" in done.stderr


def test_what_fits_is_parsed(capture: Path, tmp_path: Path) -> None:
    done = parse(capture, tmp_path, "--memory", "1500MiB", limit=3 << 30, kind=resource.RLIMIT_AS)
    assert done.returncode == 0, done.stderr
    assert f"{PACKETS:,} packets, {PACKETS:,} connections" in done.stderr


@pytest.mark.parametrize("size", ["much", "-1", "0x10", "1e400GiB"])
def test_a_size_that_is_none_is_refused(capture: Path, tmp_path: Path, size: str) -> None:
    done = parse(capture, tmp_path, f"--memory={size}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
