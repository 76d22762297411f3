"""A virtual cable in its own namespaces, and the capture agent at one of its ends."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

# An empty last block, which ends a Zstandard frame after any whole block.
ZSTD_LAST_BLOCK = b"\x01\x00\x00"
ADDRESS = "10.77.0.2"
LIMIT_S = 120  # only a hang takes longer
BURST = """
import socket, sys
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(sys.argv[1])):
    link.sendto(number.to_bytes(4) + bytes(number % 1400), (sys.argv[2], int(sys.argv[3])))
"""
STREAM = """
import itertools, socket, sys, time
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + float(sys.argv[2])
for number in itertools.count():
    if time.monotonic() > end:
        break
    link.sendto(number.to_bytes(4) + bytes(100), (sys.argv[1], 9))
    time.sleep(0.001)
"""


@pytest.fixture(scope="session")
def capture_program() -> Path:
    """The agent under test."""
    default = Path(sys.executable).parent / "flowsweep-capture"
    program = Path(os.environ.get("FLOWSWEEP_CAPTURE", default))
    if not program.exists():
        pytest.fail(f"{program} is missing: run make build")
    return program


class Cable:
    """`near` in the hub's namespace, `far` in that of the peer.

    Everything is gone when the first process is killed.
    """

    def __init__(self, program: Path) -> None:
        self.program = program
        self.disks = 0
        rootless = os.geteuid() != 0
        kinds = ["--net", "--mount", "--pid", *(["--user"] if rootless else [])]
        own = ["--map-root-user"] if rootless else []
        first = "read pid rest < /proc/self/stat && echo $pid && exec sleep infinity"
        self.holder = subprocess.Popen(
            ["unshare", *kinds, *own, "--fork", "--kill-child", "sh", "-c", first],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.holder.stdout is not None
        pid = self.holder.stdout.readline().strip()
        keep = ["--preserve-credentials"] if rootless else []
        self.enter = ["nsenter", "--target", pid, *kinds, *keep, "--"]
        try:
            self.run("mount -t tmpfs tmpfs /run && mkdir /run/netns && ip netns add peer")
            self.plug()
        except BaseException:
            self.close()
            raise

    def plug(self) -> None:
        self.run(f"""
            ip link add near type veth peer name far netns peer
            for end in near far; do
                on= ; test $end = near || on='ip netns exec peer'
                $on sysctl -qw net.ipv6.conf.$end.disable_ipv6=1
                $on ethtool -K $end tx off tso off gso off gro off > /dev/null
                $on ip link set $end up
            done
            ip addr add 10.77.0.1/24 dev near
            ip -n peer addr add {ADDRESS}/24 dev far
            far="$(ip netns exec peer cat /sys/class/net/far/address)"
            ip neigh replace {ADDRESS} dev near lladdr "$far"
        """)

    def run(self, script: str, *arguments: object) -> None:
        command = [*self.enter, "sh", "-ec", script, "sh", *map(str, arguments)]
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
        assert result.returncode == 0, result.stderr

    def small_disk(self, kilobytes: int) -> str:
        """Mounts a new world-writable disk that goes with the cable; returns its path."""
        self.disks += 1
        folder = f"/run/disk{self.disks}"
        self.run(f"mkdir {folder} && mount -t tmpfs -o size={kilobytes}k,mode=1777 tmpfs {folder}")
        return folder

    def take(self, folder: str, target: Path) -> None:
        """Copies a small disk's files out of the namespace."""
        self.run('cp "$1"/* "$2"', folder, target)

    def stream(self, seconds: float) -> subprocess.Popen[bytes]:
        """Sends a datagram every millisecond or so, in the background."""
        arguments = [sys.executable, "-c", STREAM, ADDRESS, str(seconds)]
        return subprocess.Popen([*self.enter, *arguments])

    def burst(self, packets: int, port: int = 9) -> None:
        """Sends datagrams of all sizes from near to far as fast as one core can."""
        self.run('exec "$@"', sys.executable, "-c", BURST, packets, ADDRESS, port)

    def start(self, *arguments: object, under: tuple[object, ...] = ()) -> Agent:
        """Starts the agent at the far end; `under` is another command that becomes it."""
        named = 'read pid rest < /proc/self/stat && echo $pid && exec "$@"'
        command = [
            *self.enter,
            "ip",
            "netns",
            "exec",
            "peer",
            "sh",
            "-c",
            named,
            "sh",
        ]
        if not under:
            under = (self.program,)
        process = subprocess.Popen(
            [*command, *map(str, under), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        return Agent(process, int(process.stdout.readline()))

    def close(self) -> None:
        self.holder.kill()
        self.holder.wait()


@dataclass
class Agent:
    """A running agent; `pid` is the agent's, `process` waits for it."""

    process: subprocess.Popen[str]
    pid: int

    def is_ready(self) -> bool:
        assert self.process.stdout is not None
        return self.process.stdout.readline() == "ready\n"

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        os.kill(self.pid, number)
        return self.wait()

    def wait(self) -> int:
        return self.process.wait(timeout=LIMIT_S)

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()


@dataclass
class Pcap:
    """Contents of a pcap file; packets as (nanoseconds, wire length, bytes)."""

    magic: int
    snaplen: int
    link_type: int
    packets: list[tuple[int, int, bytes]]

    @classmethod
    def read(cls, file: Path) -> Pcap:
        data = file.read_bytes()
        if file.name.endswith(".zst"):
            data = decompress(data)
        elif file.name.endswith(".zst.part"):
            data = decompress(data + ZSTD_LAST_BLOCK)
        magic, _, _, _, _, snaplen, link_type = struct.unpack_from("=IHHIIII", data)
        packets = []
        place = 24
        while place + 16 <= len(data):
            seconds, fraction, held, length = struct.unpack_from("=IIII", data, place)
            if place + 16 + held > len(data):
                break
            body = data[place + 16 : place + 16 + held]
            packets.append((seconds * 10**9 + fraction, length, body))
            place += 16 + held
        return cls(magic, snaplen, link_type, packets)


def decompress(data: bytes) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    with pyarrow.input_stream(pyarrow.py_buffer(data), compression="zstd") as stream:
        return stream.read()


@pytest.fixture(scope="session")
def cable(namespaces: None, capture_program: Path) -> Iterator[Cable]:
    cable = Cable(capture_program)
    yield cable
    cable.close()


@pytest.fixture
def pcap() -> type[Pcap]:
    return Pcap
