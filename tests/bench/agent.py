"""Capture agents compared on a virtual cable: highest rate without loss, and CPU per packet.

capture/agent/examples/blast.rs generates the load: equal frames by sendmmsg(2) on a packet socket,
from `near` to `far` in a network namespace. All agents keep 128 bytes of each packet, write plain
pcap files to memory and have rings of the same size. Frames have 64 and 1518 bytes with FCS.

* Sharing: sender and agent share one core and the sender has priority (the agent is `nice 19`), as
  when a network card's interrupts take the core from the program that reads the ring. The rate
  rises until packets are lost: the highest rate that the core can both receive and record.
* Apart: the agent has its own core, and all agents get the same load. Shows CPU time per packet.

A rate is held if nothing was dropped, the file has every packet, and the sender reached the rate:
in one trial at coarse steps, in two of at most three at fine steps. If no fine step was held, the
rate rests on one trial; `points` in the JSON has all of them. Each point is checked for
sent = written + dropped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SNAPLEN = 128
FCS_BYTES = 4
RECORD_HEADER_BYTES, FILE_HEADER_BYTES = 16, 24
SIZES = (60, 1514)  # without FCS
# Rates rise in coarse steps until one is not held, then in fine ones from the last held rate.
FIRST_RATE, COARSE, FINE = 120_000, 1.3, 1.06
# A sender below this share of its planned rate has reached its own limit.
REACHED = 0.98
# Small for the rate search, because a backlog left in the ring does not show as loss.
RING_MIB = {"sharing": 4, "apart": 64}
# The kernel hands a partly filled block to tcpdump after a second, and tcpdump ignores it at exit.
SETTLE_S = {"tcpdump": 1.2}
OTHERS_SETTLE_S = 0.3
CABLE = """
ip link set lo up
ip link add near type veth peer name far
for end in near far; do
    sysctl -qw net.ipv6.conf.$end.disable_ipv6=1
    ip link set $end up
done
mount -t tmpfs tmpfs {folder}
echo $$
exec sleep infinity
"""


@dataclass
class Point:
    """One program at one load; packets, seconds, packets/s."""

    program: str
    frame_bytes: int
    layout: str
    asked: float
    rate: float
    sent: int
    written: int
    dropped: int
    cpu_s: float

    @property
    def is_reconciled(self) -> bool:
        return self.sent == self.written + self.dropped

    @property
    def is_lossless(self) -> bool:
        return self.sent == self.written

    @property
    def is_held(self) -> bool:
        return self.is_lossless and (not self.asked or self.rate >= REACHED * self.asked)

    @property
    def cpu_per_million(self) -> float:
        return self.cpu_s / self.written * 1e6


class Bench:
    """A cable, the programs at its far end, and the sender at the near one."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        rootless = ["--user", "--map-current-user", "--keep-caps"] if os.geteuid() else []
        self.holder = subprocess.Popen(
            [
                *("unshare", *rootless, "--net", "--mount", "--fork", "--kill-child"),
                *("sh", "-ec", CABLE.format(folder=folder)),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.holder.stdout is not None
        inside = self.holder.stdout.readline().strip()
        if not inside:
            raise RuntimeError("no network namespace: run `flowsweep testbed check`")
        enter_user = ["--user", "--preserve-credentials"] if rootless else []
        self.enter = ["nsenter", "--target", inside, *enter_user, "--net", "--mount", "--"]
        self.points: list[Point] = []

    def close(self) -> None:
        self.holder.kill()
        self.holder.wait()

    def programs(self, mib: int = 1) -> dict[str, list[str]]:
        """Returns the commands with equal rings, in the unit that each one takes."""
        file = str(self.folder / "a.pcap")
        found = {
            "flowsweep-capture": [
                str(self.options.agent), "-i", "far", "-w", file,
                "--snaplen", str(SNAPLEN), "--buffer", f"{mib}MiB",
            ],
            "tcpdump": [
                "tcpdump", "-i", "far", "-n", "-w", file, "-s", str(SNAPLEN),
                "-B", str(mib * 1024), *([] if os.geteuid() else ["-Z", "root"]),
            ],
            "dumpcap": [
                "dumpcap", "-q", "-P", "-i", "far", "-w", file, "-s", str(SNAPLEN), "-B", str(mib),
            ],
        }  # fmt: skip
        return {name: command for name, command in found.items() if shutil.which(command[0])}

    @contextlib.contextmanager
    def capturing(self, command: list[str], prefix: list[str]) -> Iterator[Captured]:
        """Runs the program for a capture; SIGINT ends it after its ring had time to drain."""
        with (self.folder.parent / "log").open("w+b") as log:
            process = subprocess.Popen(
                [*self.enter, *prefix, *command], stdout=subprocess.DEVNULL, stderr=log
            )
            try:
                self.wait_for_capture()
                captured = Captured()
                yield captured
                time.sleep(SETTLE_S.get(command[0], OTHERS_SETTLE_S))
                process.send_signal(signal.SIGINT)
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:
                process.kill()
                raise
            process.returncode = os.waitstatus_to_exitcode(status)
            log.seek(0)
            captured.log = log.read().decode(errors="replace")
            captured.cpu_s = usage.ru_utime + usage.ru_stime

    def inside(self, script: str) -> str:
        """Runs a shell script in the namespaces and returns its output."""
        command = [*self.enter, "sh", "-ec", script]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def wait_for_capture(self) -> None:
        """Waits until a packet socket is bound to the far end and the file has been created."""
        pattern = f"{self.folder}/a.pcap*"
        end = time.monotonic() + 10
        while time.monotonic() < end:
            found = self.inside(f"tail -n +2 /proc/net/packet; ls {pattern} 2>/dev/null || true")
            if "/a.pcap" in found and len(found.splitlines()) > 1:
                time.sleep(0.1)
                return
            time.sleep(0.02)
        raise RuntimeError((self.folder.parent / "log").read_text())

    def measure(self, program: str, size: int, layout: str, rate: float) -> Point:
        """Measures one program at one load; 0 packets/s means as fast as the sender can."""
        sender_core, own_core = self.options.cores
        core = sender_core if layout == "sharing" else own_core
        prefix = ["taskset", "-c", str(core)]
        if layout == "sharing":
            prefix += ["nice", "-n", "19"]
        blast = ["taskset", "-c", str(sender_core), str(self.options.blast), "near"]
        plan = [str(size), str(rate), str(self.options.seconds)]
        command = self.programs(RING_MIB[layout])[program]
        with self.capturing(command, prefix) as captured:
            sender = subprocess.run(
                [*self.enter, *blast, *plan], check=True, capture_output=True, text=True
            )
        report = json.loads(sender.stdout)
        file = self.folder / "a.pcap"
        bytes_ = int(self.inside(f"stat -c %s {file} && rm {file}"))
        record = RECORD_HEADER_BYTES + min(size, SNAPLEN)
        point = Point(
            program=program,
            frame_bytes=size,
            layout=layout,
            asked=rate,
            rate=report["sent"] / report["seconds"],
            sent=report["sent"],
            written=(bytes_ - FILE_HEADER_BYTES) // record,
            dropped=captured.dropped(),
            cpu_s=captured.cpu_s,
        )
        self.points.append(point)
        return point

    def is_held(self, program: str, size: int, rate: float, times: int) -> bool:
        """Returns whether the rate was held this often before it was missed as often."""
        held = missed = 0
        while max(held, missed) < times:
            if self.measure(program, size, "sharing", rate).is_held:
                held += 1
            else:
                missed += 1
        return held > missed

    def highest(self, size: int) -> dict[str, float]:
        """Returns the highest rate that each program holds while it shares the sender's core."""
        held = dict.fromkeys(self.programs(), 0.0)
        for step, times in ((COARSE, 1), (FINE, 2)):
            rates = {name: rate * step if rate else FIRST_RATE for name, rate in held.items()}
            while rates:
                for name, rate in list(rates.items()):
                    if self.is_held(name, size, rate, times):
                        held[name], rates[name] = rate, rate * step
                    else:
                        del rates[name]
        return held


@dataclass
class Captured:
    """A program's messages and CPU time."""

    log: str = ""
    cpu_s: float = 0.0

    def dropped(self) -> int:
        """Returns the packets that the program reports as dropped by the kernel."""
        for pattern in (
            r"(\d+) dropped by the kernel",
            r"(\d+) packets? dropped by kernel",
            r"received/dropped on interface 'far': \d+/(\d+)",
        ):
            if found := re.search(pattern, self.log):
                return int(found[1])
        raise RuntimeError(f"no drop counter in: {self.log}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    default = Path(sys.executable).parent / "flowsweep-capture"
    parser.add_argument("--agent", type=Path, default=default)
    parser.add_argument("--blast", type=Path, default=target / "examples/blast")
    parser.add_argument("--seconds", type=float, default=1.0, help="load for each point")
    parser.add_argument("--cores", type=int, nargs=2, default=(0, 1), help="of sender, of agent")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="without FCS")
    parser.add_argument("--skip-rates", action="store_true", help="only CPU for a packet")
    parser.add_argument("--load", type=float, default=200_000, help="with --skip-rates")
    parser.add_argument("--output", type=Path, default=Path("results/bench-agent.json"))
    options = parser.parse_args()
    for program in (options.agent, options.blast):
        if not program.exists():
            parser.error(f"{program} is missing: make build, and cargo build --release --examples")
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "memory"
        inner.mkdir()
        bench = Bench(options, inner)
        try:
            rows = [row for size in options.sizes for row in compare(bench, size)]
        finally:
            bench.close()
    unreconciled = [asdict(point) for point in bench.points if not point.is_reconciled]
    report = {
        "machine": platform.platform(),
        "cpus": os.cpu_count(),
        "ring_mib": RING_MIB,
        "snaplen": SNAPLEN,
        "seconds": options.seconds,
        "rows": rows,
        "unreconciled": unreconciled,
        "points": [asdict(point) for point in bench.points],
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=2) + "\n")
    count = len(bench.points)
    print(f"\nsent = written + dropped in {count - len(unreconciled)} of {count} points")
    for point in unreconciled:
        print(f"  not reconciled: {point}")
    print(options.output)


def compare(bench: Bench, size: int) -> list[dict]:
    """Measures all programs with frames of one size, alternating."""
    programs = list(bench.programs())
    missing = {"flowsweep-capture", "tcpdump", "dumpcap"} - set(programs)
    highest = {}
    if not bench.options.skip_rates:
        highest = bench.highest(size)
    load = 0.9 * min([*filter(None, highest.values())], default=bench.options.load)
    apart: dict[str, list[Point]] = {program: [] for program in programs}
    for _ in range(5):
        for program in programs:
            apart[program].append(bench.measure(program, size, "apart", load))
    print(f"\n{size + FCS_BYTES}-byte frames, snap length {SNAPLEN}")
    print(
        f"{'':20}highest rate held    CPU s per million packets  (at {load / 1e6:.2f} M packets/s)"
    )
    rows = []
    for program in programs:
        cpu = [point.cpu_per_million for point in apart[program]]
        row = {
            "program": program,
            "frame_bytes": size,
            "highest_rate": highest.get(program),
            "cpu_s_per_million": statistics.median(cpu),
            "cpu_s_per_million_all": cpu,
            "cpu_load": load,
        }
        rows.append(row)
        rate = (highest.get(program) or 0) / 1e6
        spread = f"{min(cpu):.3f} to {max(cpu):.3f}"
        print(f"{program:20}{rate:8.3f} M packets/s  {row['cpu_s_per_million']:10.3f}   ({spread})")
    for program in sorted(missing):
        print(f"{program:20}not installed")
    return rows


if __name__ == "__main__":
    main()
