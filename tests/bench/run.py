"""Parsing speed and memory compared with peers, alternating: tables, and results/bench.json.

User plus system seconds of whole processes, page cache warm, medians of the rounds. Only ratios
are robust on a noisy machine. Takes less than 15 minutes, and 3 GB of temporary files.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import programs
import record
import table
from measure import Cost, alternate, median, start
from programs import Program

#: In the captures with many connections.
CONNECTIONS = 100_000
KEYS = ("few", "packed", "many", "turns", "full", "flood")
#: Files among which the packets are dealt.
FILES = 64
#: One packet: the cost of a start that has nothing to read.
ONE_PACKET = "flowsweep parse, 1 packet"


@dataclass(frozen=True)
class Plan:
    """One capture and its measurements."""

    key: str
    title: str
    packets: int
    #: Time for the rounds; a started round is finished.
    seconds: float
    #: The peers' names begin with one of these.
    peers: tuple[str, ...] = ("",)
    packet_rows: bool = True


def main() -> int:
    sys.stdout.reconfigure(line_buffering=True)
    options = arguments()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    million = 10**6
    plans = [
        Plan("few", "17 connections recorded, snap length 128", options.packets, 150),
        Plan("packed", "17 connections recorded, compressed with zstd", options.packets, 60),
        Plan("many", "100 000 connections generated, interleaved", options.packets, 240),
        Plan("turns", f"such a capture, dealt out to {FILES} files", options.packets, 60),
        Plan("full", "17 connections recorded, whole frames", int(1.5 * million), 90),
        Plan("flood", "SYN flood generated", options.flood, 60, ("cat", "tcpdump"), False),
    ]
    report = {
        "machine": platform.platform(),
        "cpus": os.cpu_count(),
        "load_before": os.getloadavg(),
        "captures": [],
    }
    with tempfile.TemporaryDirectory(prefix="flowsweep-bench-", dir=options.folder) as folder:
        scratch = Path(folder)
        one = scratch / "one.pcap"
        generate(one, 1, 1)
        for plan in plans:
            if options.only and plan.key not in options.only:
                continue
            capture = scratch / f"{plan.key}.pcap"
            try:
                source = make(plan, capture)
            except RuntimeError as error:
                print(f"\n{plan.title}: left out: {error}")
                report["captures"].append({"title": plan.title, "left_out": str(error)})
                continue
            captures = sorted(scratch.glob(f"{plan.key}-*.pcap")) or [capture]
            found = measure(plan, captures, one, scratch, options.rounds) | {"source": source}
            report["captures"].append(found)
            table.show(found)
            for path in captures:
                path.unlink()
    Path("results").mkdir(exist_ok=True)
    Path("results/bench.json").write_text(json.dumps(report, indent=2) + "\n")
    table.legend(report["captures"])
    print("\nresults/bench.json")
    return 0 if all(entry.get("sound", True) for entry in report["captures"]) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=4_000_000, help="of the first two captures")
    parser.add_argument("--flood", type=int, default=1_000_000, help="SYNs; 10000000 needs 6 GB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=KEYS)
    parser.add_argument("--folder", type=Path, help="where temporary files go")
    return parser.parse_args()


def generate(path: Path, *options: object) -> None:
    script = Path(__file__).with_name("generated.py")
    subprocess.run([sys.executable, script, path, *map(str, options)], check=True)


def make(plan: Plan, path: Path) -> str:
    """Records or generates the capture; returns how."""
    if plan.key == "turns":
        generate(path, plan.packets, CONNECTIONS, "--files", FILES)
        path.unlink()
        return "generated; which packet is in which file is drawn at random"
    if plan.key in ("many", "flood"):
        generate(path, plan.packets, 0 if plan.key == "flood" else CONNECTIONS)
        return "generated; all headers, no payload captured"
    if reason := record.missing():
        raise RuntimeError(f"cannot be recorded here: {reason}")
    if plan.key == "packed" and shutil.which("zstd") is None:
        raise RuntimeError("cannot be compressed here: no zstd")
    source = record.record(path, plan.packets, 0 if plan.key == "full" else 128)
    if plan.key == "packed":
        plain = path.rename(path.with_suffix(".plain"))
        subprocess.run(["zstd", "-q", "--rm", plain, "-o", path], check=True)
    return source


def measure(plan: Plan, captures: list[Path], one: Path, scratch: Path, rounds: int) -> dict:
    """Measures everything about one capture, in one or several files."""
    ours = programs.ours(captures, scratch)
    if not plan.packet_rows:
        ours = [program for program in ours if "--packets" not in program.name]
    single = replace(programs.ours([one], scratch)[0], name=ONE_PACKET, packets=1)
    others = peers(plan, captures, scratch)
    present = [program for program in others if program.installed]
    subprocess.run(["cat", *captures], stdout=subprocess.DEVNULL, check=True)
    everything = [single, *ours, *present]
    costs, failed = alternate(everything, scratch, rounds, plan.seconds)
    for name in costs:
        if name in failed:
            raise RuntimeError(f"{name}: {failed[name]}")
    size = sum(path.stat().st_size for path in captures)
    rows = [
        row(program, costs[program.name], plan.packets, size)
        for program in everything
        if program.name in costs
    ]
    return {
        "title": plan.title,
        "packets": plan.packets,
        "bytes": size,
        "rows": rows,
        "not_installed": [program.name for program in others if not program.installed],
        "failed": failed,
    } | derived(plan, rows, captures, scratch)


def peers(plan: Plan, captures: list[Path], scratch: Path) -> list[Program]:
    """Returns the programs to compare with."""
    if plan.key == "packed":
        return programs.unpackers(captures[0])
    if len(captures) > 1:
        return programs.joiners(captures)
    head = scratch / "head.pcap"
    if shutil.which("tshark"):
        count = str(programs.TSHARK_PACKETS)
        command = ["tshark", "-F", "pcap", "-r", captures[0], "-c", count, "-w", head]
        subprocess.run(command, check=False, capture_output=True)
    return [
        program
        for program in programs.peers(captures[0], scratch, head)
        if program.name.startswith(plan.peers)
    ]


def row(program: Program, costs: list[Cost], packets: int, size: int) -> dict:
    read = program.packets or packets
    cost = median(costs)
    return {
        "program": program.name,
        "about": program.about,
        "version": program.version(),
        "packets": read,
        "bytes": round(size * (read / packets)),
        "rounds": len(costs),
        **asdict(cost),
        "all_cpu_s": [one.cpu_s for one in costs],
    }


def derived(plan: Plan, rows: list[dict], captures: list[Path], scratch: Path) -> dict:
    """Returns the figures derived from the rows, and whether the tables are right."""
    by_name = {found["program"]: found for found in rows}
    begin, single, double = (by_name[name] for name in (ONE_PACKET, *OURS))
    found = {
        "start_up_cpu_s": begin["cpu_s"],
        "pass_cpu_s": single["cpu_s"] - begin["cpu_s"],
        "pass_wall_ratio_2_threads": (single["wall_s"] - begin["wall_s"])
        / (double["wall_s"] - begin["wall_s"]),
        "wall_ratio_2_threads": single["wall_s"] / double["wall_s"],
    }
    if with_rows := by_name.get("flowsweep parse --packets, 1 thr."):
        found["pass_with_packets_cpu_s"] = with_rows["cpu_s"] - begin["cpu_s"]
    if plan.key == "flood":
        extra = (single["peak_mb"] - begin["peak_mb"]) * 2**20
        found["bytes_per_connection"] = extra / plan.packets
    found["identical_at_threads"] = identical(plan, captures, scratch)
    found["counts_right"] = counts_right(plan, scratch)
    found["sound"] = found["identical_at_threads"] and found["counts_right"]
    return found


OURS = ("flowsweep parse, 1 thread", "flowsweep parse, 2 threads")


def identical(plan: Plan, captures: list[Path], scratch: Path) -> bool:
    """Returns whether 1, 2 and 4 threads write the same bytes; leaves the tables of 4 threads."""
    command = programs.ours(captures, scratch)[2 if plan.packet_rows else 0].command
    threads = command.index("--threads") + 1
    folders = []
    for number in (1, 2, 4):
        start([*command[:threads], str(number), *command[threads + 1 :]], scratch)
        folders.append((scratch / "tables").rename(scratch / f"tables-{number}"))
    names = sorted(path.name for path in folders[0].iterdir())
    same = all(
        sorted(path.name for path in folder.iterdir()) == names
        and filecmp.cmpfiles(folders[0], folder, names, shallow=False)[0] == names
        for folder in folders[1:]
    )
    for folder in folders[:2]:
        subprocess.run(["rm", "-r", folder], check=True)
    folders[2].rename(scratch / "tables")
    return same


def counts_right(plan: Plan, scratch: Path) -> bool:
    """Returns whether the tables contain every packet and the expected number of connections."""
    query = f"select sum(packets), count(distinct connection) from '{scratch}/tables/flows.parquet'"
    program = f"import duckdb; print(*duckdb.sql({query!r}).fetchall()[0])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    packets, connections = map(int, done.stdout.split())
    many = min(plan.packets, CONNECTIONS)
    wanted = {"flood": plan.packets, "many": many, "turns": many}.get(plan.key, 17)
    return packets == plan.packets and connections == wanted


if __name__ == "__main__":
    sys.exit(main())
