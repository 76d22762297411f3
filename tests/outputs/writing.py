"""Small captures, and commands that are killed, stopped or started together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from build import pcap, tcp


class Ended(NamedTuple):
    """The end of commands that were started together, in their order.

    `codes`: exit codes, or negative signal numbers; `errors`: their stderr; `steps`: how often they
    renamed, removed, created or synced a file or folder, in total; `seconds`: since the signal.
    """

    codes: list[int]
    errors: list[str]
    steps: int
    seconds: float


class Nursery:
    """Starts commands from a process that has loaded all modules."""

    def __init__(self, temporary: Path) -> None:
        self.temporary = temporary
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "nursery.py"],
            env=os.environ | {"TMPDIR": str(temporary)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *commands: list[object], **how: object) -> Ended:
        """Runs `flowsweep` with these arguments; see nursery.py."""
        words = [[str(word) for word in command] for command in commands]
        print(json.dumps({"commands": words, **how}), file=self._process.stdin, flush=True)
        return Ended(**json.loads(self._process.stdout.readline()))

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def capture(packets: int, port: int = 80) -> bytes:
    """Returns a connection of `packets` packets as a pcap."""
    return pcap(
        [
            (number * 1_000_000, tcp("10.0.0.1", 1000, "10.0.0.2", port, seq=number, payload=1))
            for number in range(packets)
        ]
    )


def make_run(folder: Path, packets: int, hosts: int = 2) -> Path:
    """Creates the folder of a run with a capture of each host; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    for host in range(hosts):
        (folder / f"pc{host}.pcap").write_bytes(capture(packets, packets))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """Returns all files below a folder, hidden ones too, by relative path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def in_place(folder: Path) -> dict[str, bytes]:
    """Returns the tables that are not in a hidden folder."""
    found = files_of(folder) if folder.is_dir() else {}
    return {
        name: data
        for name, data in found.items()
        if name.endswith(".parquet") and not any(part[0] == "." for part in Path(name).parts)
    }


def hidden_of(folder: Path) -> list[str]:
    """Returns the hidden names in a folder or below."""
    return sorted(str(path) for path in folder.rglob(".*"))
