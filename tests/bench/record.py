"""Real TCP for the benchmark: iperf3 over a veth pair in own namespaces, captured by tcpdump."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

NEEDS = ("unshare", "nsenter", "ip", "ethtool", "iperf3", "tcpdump")
STREAMS = 16
#: A machine that needs longer per packet is too slow for a benchmark.
SLOWEST_PACKET_S = 40e-6
#: Root needs no user namespace, and inside one tcpdump cannot drop its privileges.
AS_USER = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
ENCLOSE = ["unshare", *AS_USER, "--net", "--mount"]


def missing() -> str | None:
    """Returns why nothing can be recorded here, or None."""
    lacking = [name for name in NEEDS if shutil.which(name) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)}"
    tried = subprocess.run([*ENCLOSE, "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() or None


def record(path: Path, packets: int, snaplen: int) -> str:
    """Writes `packets` packets of 16 transfers and their control connection.

    Offloads are off, so that frames are at most 1514 bytes; 0 as `snaplen` keeps them whole.
    Returns how it was recorded and how many packets were lost.
    """
    done = subprocess.run(
        [*ENCLOSE, sys.executable, __file__, str(path), str(packets), str(snaplen)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"recording failed: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()


def _enclosed(path: Path, packets: int, snaplen: int) -> None:
    """Runs inside the namespaces: the sender here, the receiver in a nested network namespace."""
    with subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) as holder:
        own = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
            time.sleep(0.01)
        there = ["nsenter", f"--target={holder.pid}", "--net"]
        try:
            _connect(holder.pid, there)
            _transfer(path, packets, snaplen, there)
        finally:
            holder.kill()


def _connect(receiver: int, there: list[str]) -> None:
    def run(*command: str) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    run(
        "ip", "link", "add", "left", "type", "veth", "peer", "name", "right", "netns", str(receiver)
    )
    for prefix, name, address in (([], "left", "10.9.0.1/24"), (there, "right", "10.9.0.2/24")):
        run(*prefix, "ip", "address", "add", address, "dev", name)
        run(*prefix, "ip", "link", "set", name, "up")
        run(*prefix, "ethtool", "-K", name, "tso", "off", "gso", "off", "gro", "off")


def _transfer(path: Path, packets: int, snaplen: int, there: list[str]) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dump = ["tcpdump", "-i", "left", "-n", "-s", str(snaplen), "-c", str(packets), "-w", str(path)]
    dump += ["-B", "262144", "--time-stamp-precision=nano"]
    dump += ["-Z", "root"] if os.geteuid() == 0 else []
    dump += ["tcp"]
    seconds = max(10, int(packets * SLOWEST_PACKET_S))
    server = subprocess.Popen([*there, "iperf3", "-s"], **quiet)
    tcpdump = subprocess.Popen(dump, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(1)  # until both listen
        client = ["iperf3", "-c", "10.9.0.2", "-P", str(STREAMS), "-t", str(seconds)]
        transfer = subprocess.Popen(client, **quiet)
        try:
            _, messages = tcpdump.communicate(timeout=seconds + 5)
        finally:
            transfer.kill()
            transfer.wait()
    finally:
        for process in (tcpdump, server):
            process.kill()
            process.wait()
    lost = re.search(r"(\d+) packets? dropped by kernel", messages)
    print(
        f"iperf3 over veth, offloads off; {lost.group(1) if lost else '?'} packets lost by tcpdump"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("packets", type=int)
    parser.add_argument("snaplen", type=int)
    options = parser.parse_args()
    _enclosed(options.path, options.packets, options.snaplen)
