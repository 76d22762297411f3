"""Parsing speed against peers, alternating in one run: a table, and results/bench.json.

User plus system seconds of the whole process, page cache warm, median of the rounds.
Packets per second would say the same; the ratio is what survives a noisy machine.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import captures

FLOWSWEEP = Path(sys.executable).parent / "flowsweep"


def peers(capture: Path, scratch: Path) -> dict[str, list[str]]:
    """The commands; what each does is said, since they do not do the same."""
    output = ["--output", str(scratch / "tables")]
    return {
        "flowsweep parse (all tables but packets, 1 thread)": [
            str(FLOWSWEEP), "parse", str(capture), *output, "--threads", "1",
        ],
        "flowsweep parse (2 threads)": [
            str(FLOWSWEEP), "parse", str(capture), *output, "--threads", "2",
        ],
        "flowsweep parse --packets (1 thread)": [
            str(FLOWSWEEP), "parse", str(capture), *output, "--threads", "1", "--packets",
        ],
        "cat >/dev/null": ["cat", str(capture)],
        "tcpdump -w /dev/null": ["tcpdump", "-r", str(capture), "-w", "/dev/null"],
        "capinfos -c": ["capinfos", "-c", str(capture)],
        "softflowd (flows)": ["softflowd", "-d", "-r", str(capture), "-n", "127.0.0.1:9"],
        "tcptrace -l -r -n (TCP state)": ["tcptrace", "-l", "-r", "-n", str(capture)],
    }  # fmt: skip


def seconds(command: list[str], scratch: Path) -> tuple[float, float, float]:
    """User plus system, wall, and peak memory in MB of one start."""
    shutil.rmtree(scratch / "tables", ignore_errors=True)
    with (scratch / "log").open("wb") as log:
        started = os.times()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        ended = os.times()
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError(f"{command}: {(scratch / 'log').read_text()[-500:]}")
    return (
        usage.ru_utime + usage.ru_stime,
        ended.elapsed - started.elapsed,
        usage.ru_maxrss / 1024,
    )


def apart(function: Callable[..., None], *arguments: object) -> None:
    """In a process of its own: what it needs would count as peak memory of our children."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode != 0:
        raise RuntimeError(f"{function.__name__}{arguments} failed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    report = {"machine": platform.platform(), "cpus": os.cpu_count(), "captures": []}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        plan = [
            ("17 connections, snap length 128", 17),
            ("100 000 connections, interleaved", 100_000),
        ]
        for title, connections in plan:
            capture = scratch / f"{connections}.pcap"
            apart(captures.write_interleaved, capture, options.packets, connections)
            report["captures"].append(measure(title, capture, scratch, options))
            if connections == 17:
                full = scratch / "full.pcap"
                apart(captures.write_full_frames, full, capture, options.packets // 4)
            capture.unlink()
        report["captures"].append(measure("full 1514-byte frames", full, scratch, options))
    Path("results").mkdir(exist_ok=True)
    Path("results/bench.json").write_text(json.dumps(report, indent=2) + "\n")
    print("results/bench.json")


def measure(title: str, capture: Path, scratch: Path, options: argparse.Namespace) -> dict:
    """All peers on one capture, round by round, so that noise hits all alike."""
    commands = {
        name: command
        for name, command in peers(capture, scratch).items()
        if shutil.which(command[0])
    }
    missing = sorted(set(peers(capture, scratch)) - set(commands))
    subprocess.run(["cat", str(capture)], stdout=subprocess.DEVNULL, check=True)
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            times[name].append(seconds(command, scratch))
    packets = options.packets if "full" not in title else options.packets // 4
    base = statistics.median(cpu for cpu, _, _ in next(iter(times.values())))
    print(f"\n{title}: {packets / 1e6:g} M packets, {capture.stat().st_size / 1e6:,.0f} MB")
    print(f"{'':52}  M packets/s   wall s   CPU s   ratio  peak MB")
    rows = []
    for name, found in times.items():
        cpu, wall, memory = (statistics.median(column) for column in zip(*found, strict=True))
        rows.append({"command": name, "cpu_s": cpu, "wall_s": wall, "peak_mb": memory})
        speed = packets / cpu / 1e6 if cpu else float("inf")
        numbers = f"{speed:11.2f}  {wall:7.2f}  {cpu:6.2f}  {cpu / base:6.2f}  {memory:7.0f}"
        print(f"{name:52}  {numbers}")
    for name in missing:
        print(f"{name:52}  not installed")
    return {"title": title, "packets": packets, "bytes": capture.stat().st_size, "rows": rows}


if __name__ == "__main__":
    main()
