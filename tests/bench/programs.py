"""The measured programs: our commands and the peers, and what each one does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FLOWSWEEP = Path(sys.executable).parent / "flowsweep"
#: tshark gets this many packets, because all would take minutes.
TSHARK_PACKETS = 200_000


@dataclass(frozen=True)
class Program:
    """One command. `about` describes its work, since no two do the same."""

    name: str
    about: str
    command: list[str]
    #: The packets that it reads, if not all.
    packets: int | None = None

    @property
    def installed(self) -> bool:
        return shutil.which(self.command[0]) is not None

    def version(self) -> str:
        """Returns the first words of the program's output that look like a version."""
        flag = "-V" if self.command[0] in ("softflowd", "nfpcapd") else "--version"
        done = subprocess.run(
            [self.command[0], flag], capture_output=True, text=True, check=False, timeout=20
        )
        found = re.search(r"\d+\.\d+(\.\d+)?[\w-]*", done.stdout + done.stderr)
        return found.group() if found else "unknown"


def ours(captures: list[Path], scratch: Path) -> list[Program]:
    """Returns `flowsweep parse`, which writes all tables, Parquet with zstd, to `scratch`."""

    def parse(threads: int, *more: str) -> list[str]:
        options = ["--output", str(scratch / "tables"), "--threads", str(threads), *more]
        return [str(FLOWSWEEP), "parse", *map(str, captures), *options]

    tables = "flows with TCP state and RTT, intervals, 10 ms throughput"
    return [
        Program("flowsweep parse, 1 thread", f"{tables}; no packets", parse(1)),
        Program("flowsweep parse, 2 threads", f"{tables}; no packets", parse(2)),
        Program("flowsweep parse --packets, 1 thr.", f"{tables}; packets", parse(1, "--packets")),
    ]


def joiners(captures: list[Path]) -> list[Program]:
    """Returns the usual program to merge several captures before an analysis."""
    command = ["mergecap", "-F", "nsecpcap", "-w", "/dev/null", *map(str, captures)]
    return [Program("mergecap -w /dev/null", "finds the packets, in their order", command)]


def unpackers(capture: Path) -> list[Program]:
    """Returns the cost of unpacking alone."""
    return [Program("zstd -dc >/dev/null", "unpacks the bytes", ["zstd", "-dc", str(capture)])]


def peers(capture: Path, scratch: Path, head: Path) -> list[Program]:
    """Returns the usual programs; `head` contains the first packets of `capture`."""
    file = str(capture)
    flows = scratch / "nfpcapd"
    return [
        Program("cat >/dev/null", "reads the bytes", ["cat", file]),
        Program(
            "tcpdump -w /dev/null", "finds the packets", ["tcpdump", "-r", file, "-w", "/dev/null"]
        ),
        Program("capinfos -c", "counts the packets", ["capinfos", "-c", file]),
        Program(
            "softflowd",
            "flows; no TCP state; at most 8192 at a time, its default",
            ["softflowd", "-d", "-r", file, "-n", "127.0.0.1:9"],
        ),
        Program(
            "softflowd -m 1000000",
            "flows; no TCP state; all at a time",
            ["softflowd", "-d", "-m", "1000000", "-r", file, "-n", "127.0.0.1:9"],
        ),
        Program(
            "nfpcapd",
            "flows; no TCP state; written to files",
            ["nfpcapd", "-r", file, "-w", str(flows)],
        ),
        Program(
            "tcptrace -l -r -n",
            "TCP state and RTT; text",
            ["tcptrace", "-l", "-r", "-n", file],
        ),
        Program(
            "zeek, conn only",
            "conn.log; checksums not verified",
            ["zeek", "-b", "-C", "-r", file, "base/protocols/conn"],
        ),
        Program(
            f"tshark -z conv, {TSHARK_PACKETS / 1e6:g} M packets",
            "TCP conversations; all its dissectors on",
            ["tshark", "-n", "-q", "-r", str(head), "-z", "conv,tcp"],
            TSHARK_PACKETS,
        ),
    ]
