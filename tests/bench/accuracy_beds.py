"""Three emulators with one description of a link: flowsweep-wan, rattan, netem.

A bed has two places, west and east, with the emulator between them; `CannotError` means that an
emulator cannot provide a link. Rates are those of the line, with Ethernet's 24 bytes per frame in
addition to header and data.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "emulator"))

from laboratory import Laboratory

from flowsweep.testbed.namespaces.steering import Steering

OVERHEAD_BYTES = 24
RECEIVING = "/sys/class/net/{}/queues/rx-0/rps_cpus"
ENVIRONMENT_RATTAN = "RATTAN"


class CannotError(Exception):
    """The emulator lacks this feature, or is not available."""


@dataclass
class Link:
    """Both directions of a link; None means not emulated."""

    delay_ns: int = 0
    rate_bit_s: float | None = None
    queue_bytes: int | None = None
    jitter: dict[str, Any] | None = None
    loss: float | None = None


@dataclass
class Bed:
    """Where to run programs, and how to reach the other side."""

    inside: Callable[[str, list[str]], list[str]]
    address: str
    # Filled when the bed is closed, if the emulator has counters.
    counters: dict[str, Any] = field(default_factory=dict)

    def start(self, place: str, *words: object) -> subprocess.Popen[str]:
        argv = self.inside(place, [str(word) for word in words])
        return subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
        )

    def probe(self, place: str, *words: object) -> subprocess.Popen[str]:
        script = Path(__file__).with_name("accuracy_probe.py")
        process = self.start(place, sys.executable, script, *words)
        if words[0] in ("sink", "sink-sizes", "discard"):
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
        return process

    def result(self, place: str, *words: object) -> Any:
        return outcome(self.probe(place, *words))


def outcome(process: subprocess.Popen[str]) -> Any:
    """Returns the result of a probe."""
    out, error = process.communicate(timeout=90)
    if process.returncode != 0:
        raise RuntimeError(f"{process.args}: {error}")
    return json.loads(out)


class Laboratories:
    """One set of namespaces for flowsweep-wan and netem."""

    def __init__(self, program: Path) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.laboratory = Laboratory(Path(self.folder.name), program)
        mac = {}
        for place in ("west", "east"):
            self.laboratory.run(place, "ip", "link", "set", "exp0", "mtu", 1500)
            text = self.laboratory.run(place, "cat", "/sys/class/net/exp0/address")
            mac[place] = text.strip()
            buffers = "4096 131072 33554432"
            for name in ("rmem", "wmem"):
                self.laboratory.run(place, "sysctl", "-qw", f"net.ipv4.tcp_{name}={buffers}")
        for number, (place, other) in enumerate((("east", "west"), ("west", "east")), start=1):
            # No ARP, because a lost request would cost a second.
            neighbour = ("neigh", "replace", f"10.77.{number}.1", "lladdr", mac[other])
            self.laboratory.run(place, "ip", *neighbour, "dev", "exp0", "nud", "permanent")
        # /sys shows the hub's own network; `ip netns exec` does the same for the places.
        self.laboratory.run("hub", "mount", "-t", "sysfs", "sysfs", "/sys")

    def steer(self, steering: Steering | None) -> None:
        """Steers the reception of frames as in a run of the testbed."""
        mask = "0" if steering is None else steering.mask
        ends = [("west", "exp0"), ("east", "exp0"), ("hub", "up-west"), ("hub", "up-east")]
        for place, interface in ends:
            self.laboratory.run(place, "sh", "-c", f"echo {mask} > {RECEIVING.format(interface)}")

    @contextlib.contextmanager
    def bare(self) -> Iterator[Bed]:
        """Yields the path with a bridge in place of the emulator."""
        self.steer(None)
        run = self.laboratory.run
        run("hub", "ip", "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        for port in ("up-west", "up-east"):
            run("hub", "ip", "link", "set", port, "master", "br0")
        run("hub", "ip", "link", "set", "br0", "up")
        yield self.bed()
        run("hub", "ip", "link", "del", "br0")

    def bed(self) -> Bed:
        return Bed(lambda place, words: self.laboratory.command(place, *words), "10.77.2.1")

    def close(self) -> None:
        self.laboratory.close()
        self.folder.cleanup()


class FlowsweepWan:
    """The emulator of this project."""

    name = "flowsweep-wan"

    def __init__(self, laboratories: Laboratories) -> None:
        self.laboratories = laboratories

    @contextlib.contextmanager
    def bed(self, link: Link) -> Iterator[Bed]:
        keys: dict[str, Any] = {"delay_ns": link.delay_ns, "rate_bit_s": link.rate_bit_s}
        keys |= {"queue_bytes": link.queue_bytes}
        if link.jitter:
            keys |= {"jitter": link.jitter, "reorder": True}
        if link.loss:
            keys |= {"loss": {"rate": link.loss}}
        bed = self.laboratories.bed()
        top = {"overhead_bytes": OVERHEAD_BYTES}
        steering = Steering.at(link.rate_bit_s or 0)
        self.laboratories.steer(steering)
        with self.laboratories.laboratory.wan(top=top, **keys) as emulator:
            if steering is not None:
                steering.place(emulator.pid)
            # The neighbour entry is permanent, so the switch must learn the port from a frame.
            subprocess.run(
                bed.inside("east", ["ping", "-qc1", "-W1", "10.77.1.1"]),
                stdout=subprocess.DEVNULL,
                check=False,
            )
            yield bed
            bed.counters = emulator.stop()


class Netem:
    """The kernel's queue discipline, on both ports of a bridge."""

    name = "netem"

    def __init__(self, laboratories: Laboratories) -> None:
        self.laboratories = laboratories
        run = laboratories.laboratory.run
        try:
            run("hub", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
        except AssertionError:
            raise CannotError("this kernel has no netem") from None
        run("hub", "tc", "qdisc", "del", "dev", "lo", "root")

    @contextlib.contextmanager
    def bed(self, link: Link) -> Iterator[Bed]:
        words: list[object] = ["netem", "delay", f"{link.delay_ns / 1e3}us"]
        if link.jitter:
            if link.jitter["law"] == "uniform":
                words += [f"{link.jitter['std_ns'] * 3**0.5 / 1e3}us"]
            else:
                words += [f"{link.jitter['std_ns'] / 1e3}us", "distribution", link.jitter["law"]]
        if link.loss:
            words += ["loss", f"{link.loss * 100}%"]
        if link.rate_bit_s:
            words += ["rate", f"{link.rate_bit_s:.0f}bit", OVERHEAD_BYTES]
        # The limit includes frames in flight.
        in_flight = (link.rate_bit_s or 1e10) * link.delay_ns / 8e9 / 60
        words += ["limit", max(1_000, round(2 * in_flight), (link.queue_bytes or 0) // 1_514)]
        run = self.laboratories.laboratory.run
        with self.laboratories.bare() as bed:
            for port in ("up-west", "up-east"):
                run("hub", "tc", "qdisc", "replace", "dev", port, "root", *words)
            yield bed
            for port in ("up-west", "up-east"):
                run("hub", "tc", "qdisc", "del", "dev", port, "root")


class Rattan:
    """The emulator of that name, in namespaces of its own."""

    name = "rattan"

    def __init__(self) -> None:
        program = os.environ.get(ENVIRONMENT_RATTAN) or shutil.which("rattan")
        if not program:
            raise CannotError("not installed: cargo install rattan, then RATTAN=/path/to/rattan")
        if os.geteuid() != 0:
            raise CannotError("needs root")
        self.program = program

    @contextlib.contextmanager
    def bed(self, link: Link) -> Iterator[Bed]:
        if link.jitter:
            raise CannotError("no law of jitter")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "link.toml").write_text(rattan_config(link))
            for side in ("left", "right"):
                script = path / side
                script.write_text(
                    f"#!/bin/sh\nip link set lo up\necho $$ > {path}/{side}.pid\nexec sleep 600\n"
                )
                script.chmod(0o755)
            # Real-time priority; flowsweep-wan requests it itself.
            command = ["chrt", "--fifo", "50", self.program]
            command += ["run", "--config", str(path / "link.toml")]
            command += ["--left", str(path / "left"), "--right", str(path / "right")]
            isolation = ["unshare", "--net", "--mount", "--fork", "--kill-child", "sh", "-ec"]
            script = 'mount -t tmpfs none /run; ip link set lo up; exec "$@"'
            process = subprocess.Popen(
                [*isolation, script, "sh", *command],
                stdout=subprocess.DEVNULL,
                stderr=(path / "log").open("w"),
                start_new_session=True,
            )
            try:
                pids = [self._pid(path, side, process) for side in ("left", "right")]
                yield self._bed(dict(zip(("west", "east"), pids, strict=True)))
            finally:
                for side in ("left", "right"):
                    with contextlib.suppress(OSError, ValueError):
                        os.kill(int((path / f"{side}.pid").read_text()), signal.SIGKILL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(3)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    @staticmethod
    def _pid(folder: Path, side: str, process: subprocess.Popen[bytes]) -> str:
        end = time.monotonic() + 20
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(OSError):
                if text := (folder / f"{side}.pid").read_text().strip():
                    return text
            time.sleep(0.05)
        raise RuntimeError(f"rattan did not start: {(folder / 'log').read_text()[-500:]}")

    @staticmethod
    def _bed(pids: dict[str, str]) -> Bed:
        def inside(place: str, words: list[str]) -> list[str]:
            return ["nsenter", "--target", pids[place], "--net", "--", *words]

        buffers = "4096 131072 33554432"
        for place in pids:
            for name in ("rmem", "wmem"):
                sysctl = ["sysctl", "-qw", f"net.ipv4.tcp_{name}={buffers}"]
                subprocess.run(inside(place, sysctl), check=True)
        shown = subprocess.run(
            inside("east", ["ip", "-j", "-4", "addr"]), capture_output=True, check=True
        )
        address = next(
            entry["addr_info"][0]["local"]
            for entry in json.loads(shown.stdout)
            if entry["ifname"] != "lo" and entry["addr_info"]
        )
        subprocess.run(
            inside("west", ["ping", "-qc2", "-i0.3", "-W1", address]),
            stdout=subprocess.DEVNULL,
            check=False,
        )
        return Bed(inside, address)


def rattan_config(link: Link) -> str:
    """Returns a configuration with the same cells in each direction: rate, delay, loss."""
    lines = ["[env]", 'mode = "Isolated"', "left_veth_count = 1", "right_veth_count = 1"]
    links = []
    for way, ends in (("up", ("left", "right")), ("down", ("right", "left"))):
        cells = []
        if link.rate_bit_s:
            cells.append(f"{way}_rate")
            lines += [
                f"[cells.{way}_rate]",
                'type = "Bw"',
                'queue = "DropTail"',
                f'bandwidth = "{link.rate_bit_s:.0f}bps"',
                'bw_type = "LinkLayer"',
                f"[cells.{way}_rate.queue_config]",
                f"byte_limit = {link.queue_bytes or 1_000_000}",
                'bw_type = "LinkLayer"',
            ]
        if link.delay_ns:
            cells.append(f"{way}_delay")
            lines += [f"[cells.{way}_delay]", 'type = "Delay"', f'delay = "{link.delay_ns}ns"']
        if link.loss:
            cells.append(f"{way}_loss")
            lines += [f"[cells.{way}_loss]", 'type = "Loss"', f"pattern = [{link.loss}]"]
        chain = [ends[0], *cells, ends[1]]
        links += [f'{one} = "{two}"' for one, two in pairwise(chain)]
    tail = ["[resource]", f"cpu = {sorted(os.sched_getaffinity(0))}", "[general]"]
    return "\n".join([*lines, "[links]", *links, *tail]) + "\n"
