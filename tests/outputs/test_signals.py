"""SIGINT, SIGTERM and SIGHUP end a command soon, and nothing temporary stays."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from writing import capture, hidden_of, in_place

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MOMENTS = 10
#: A worker finishes its current window first.
SOON_S = 0.5


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """The folder of a run whose two captures take one or two tenths of a second."""
    run = tmp_path_factory.mktemp("large") / "r1"
    run.mkdir()
    part = capture(20_000)
    packets = part[24:]
    for host in ("pc1", "pc2"):
        (run / f"{host}.pcap").write_bytes(part + 20 * packets)
    return run


@pytest.mark.parametrize("name", ["parse", "ingest"])
def test_at_ten_moments(nursery, measurement, large, tmp_path, name):
    what = large if name == "ingest" else large / "pc1.pcap"
    command = [name, what, "-o"]
    seconds = []
    for number in range(3):  # the first one also reads from the disk
        begin = time.monotonic()
        whole = nursery.run([*command, tmp_path / f"whole{number}"])
        seconds.append(time.monotonic() - begin)
        assert whole.codes == [0]
    lasts = min(seconds)
    tables = in_place(tmp_path / "whole0")
    codes = []
    for moment in range(MOMENTS):
        for number in SIGNALS:
            out = tmp_path / f"{moment}-{number}"
            done = nursery.run([*command, out], stop=[number, lasts * (moment + 0.5) / MOMENTS])
            codes += done.codes
            assert done.codes in ([128 + number], [0], [-number])
            assert in_place(out) in ({}, tables)
            assert hidden_of(tmp_path) == [], done
    assert len([code for code in codes if code > 128]) > len(codes) / 3


def test_ingest_ends_soon(nursery, measurement, tmp_path):
    """It would read for some more seconds."""
    part = capture(20_000)
    packed = gzip.compress(part) + 400 * gzip.compress(part[24:])
    for host in ("pc1", "pc2"):
        path = tmp_path / "r1" / f"{host}.pcap.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(packed)

    def ended() -> float:
        command = ["ingest", tmp_path / "r1", "-o", tmp_path / "out"]
        done = nursery.run(command, stop=[signal.SIGINT, 0.5])
        assert done.codes == [130]
        return done.seconds

    def soon(seconds: float) -> None:
        assert seconds < SOON_S

    measurement(ended).holds(soon)
    assert not (tmp_path / "out").exists()


def pending(pid: int) -> bool:
    """Returns whether a signal is pending for a process or its first thread."""
    status = Path(f"/proc/{pid}/status").read_text()
    names = ("SigPnd:", "ShdPnd:")
    return any(int(line.split()[1], 16) for line in status.splitlines() if line.startswith(names))


@pytest.mark.parametrize("number", SIGNALS)
def test_of_a_stream_the_tables_are_removed(tmp_path, number, until):
    out = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-m", "flowsweep", "parse", "-", "--output", str(out)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write(capture(2_000))
        process.stdin.flush()
        until(lambda: any(tmp_path.rglob("*.parquet")), "a table")
        process.send_signal(number)
        until(lambda: not pending(process.pid), "the signal is delivered")
        process.stdin.close()
        process.wait(timeout=60)
        assert process.returncode == 128 + number
        assert process.stderr.read() == b"stopped\n"
    assert list(tmp_path.iterdir()) == []


def test_of_show_no_folder_stays(tmp_path, until):
    fifo = tmp_path / "stream.pcap"
    os.mkfifo(fifo)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "flowsweep", "show", fifo],
        env=os.environ | {"TMPDIR": str(temporary)},
        stderr=subprocess.DEVNULL,
    ) as process:
        with fifo.open("wb") as stream:
            stream.write(capture(2_000))
            stream.flush()
            until(lambda: any(temporary.rglob("*.parquet")), "a table")
            process.send_signal(signal.SIGTERM)
            until(lambda: not pending(process.pid), "the signal is delivered")
        process.wait(timeout=60)
    assert process.returncode == 143
    assert list(temporary.iterdir()) == []


def test_what_was_to_be_ignored_is_ignored(tmp_path, until):
    """Starts the command as `nohup` does."""
    words = [sys.executable, "-m", "flowsweep", "parse", "-", "--output", tmp_path / "out"]
    with subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *words],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write(capture(2_000))
        process.stdin.flush()
        until(lambda: any(tmp_path.rglob("*.parquet")), "a table")
        process.send_signal(signal.SIGHUP)
        process.stdin.close()
        process.wait(timeout=60)
    assert process.returncode == 0
