"""What is measured: our commands and the peers', and what each of them has on and off."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FLOWSWEEP = Path(sys.executable).parent / "flowsweep"
#: tshark is given this many packets: all would take minutes.
TSHARK_PACKETS = 200_000


@dataclass(frozen=True)
class Program:
    """One command. `about` says what it does, since no two do the same."""

    name: str
    about: str
    command: list[str]
    #: Packets that it reads, where that is not all.
    packets: int | None = None

    @property
    def installed(self) -> bool:
        return shutil.which(self.command[0]) is not None

    def version(self) -> str:
        """The first words of the program on itself that look like a version."""
        flag = "-V" if self.command[0] in ("softflowd", "nfpcapd") else "--version"
        done = subprocess.run(
            [self.command[0], flag], capture_output=True, text=True, check=False, timeout=20
        )
        found = re.search(r"\d+\.\d+(\.\d+)?[\w-]*", done.stdout + done.stderr)
        return found.group() if found else "unknown"


def ours(captures: list[Path], scratch: Path) -> list[Program]:
    """`flowsweep parse`; every table is written as Parquet with zstd to the temporary folder."""

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
    """The program that people make one capture of several with, before they look at it."""
    command = ["mergecap", "-F", "nsecpcap", "-w", "/dev/null", *map(str, captures)]
    return [Program("mergecap -w /dev/null", "finds the packets, in their order", command)]


def unpackers(capture: Path) -> list[Program]:
    """What the same costs without looking into it."""
    return [Program("zstd -dc >/dev/null", "unpacks the bytes", ["zstd", "-dc", str(capture)])]


def peers(capture: Path, scratch: Path, head: Path) -> list[Program]:
    """The programs that people use; `head` holds the first packets of `capture`."""
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
