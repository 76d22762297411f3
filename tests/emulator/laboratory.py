"""Sites in their own network namespaces, and the emulator between them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SITES = ("west", "east", "north")
LIMIT_S = 120  # only a hang takes longer


class Laboratory:
    """Namespaces west, east and north, each with exp0 (10.77.<n>.1).

    The far ends up-<site> are in the hub's namespace. Everything lives in a PID namespace, so it is
    always gone when the first process in it is killed.
    """

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.program = program
        kinds = ["--net", "--mount", "--pid"]
        if os.geteuid() != 0:
            kinds += ["--user"]
        own = ["--map-root-user"] if os.geteuid() != 0 else []
        first = "read pid rest < /proc/self/stat && echo $pid && exec sleep infinity"
        self.holder = subprocess.Popen(
            ["unshare", *kinds, *own, "--fork", "--kill-child", "sh", "-c", first],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.holder.stdout is not None
        pid = self.holder.stdout.readline().strip()
        keep = ["--preserve-credentials"] if os.geteuid() != 0 else []
        self.enter = ["nsenter", "--target", pid, *kinds, *keep, "--"]
        try:
            self.run("hub", "sh", "-ec", self._setup())
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _setup() -> str:
        lines = ["mount -t tmpfs tmpfs /run", "mkdir /run/netns", "ip link set lo up"]
        off = "tx off tso off gso off gro off > /dev/null"
        for number, site in enumerate(SITES, start=1):
            lines += [
                f"ip netns add {site}",
                f"ip link add exp0 netns {site} type veth peer name up-{site}",
                f"ip netns exec {site} sysctl -qw net.ipv6.conf.exp0.disable_ipv6=1",
                f"sysctl -qw net.ipv6.conf.up-{site}.disable_ipv6=1",
                f"ip netns exec {site} ethtool -K exp0 {off}",
                f"ethtool -K up-{site} {off}",
                f"ip -n {site} link set exp0 mtu 9000 up",
                f"ip link set up-{site} mtu 9000 up",
                f"ip -n {site} addr add 10.77.{number}.1/16 dev exp0",
            ]
        return "\n".join(lines)

    def command(self, place: str, *arguments: object) -> list[str]:
        inside = [] if place == "hub" else ["ip", "netns", "exec", place]
        return [*self.enter, *inside, *map(str, arguments)]

    def run(self, place: str, *arguments: object) -> str:
        words = self.command(place, *arguments)
        result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def start(self, place: str, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(place, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def python(self, place: str, script: str, *arguments: object) -> subprocess.Popen[str]:
        return self.start(place, sys.executable, HERE / script, *arguments)

    @staticmethod
    def script(name: str) -> Path:
        return HERE / name

    def frames(self, site: str, counter: str) -> int:
        return int(self.run(site, "cat", f"/sys/class/net/exp0/statistics/{counter}"))

    def forget_neighbours(self) -> None:
        """Flushes neighbours: verifying one would put an ARP frame between those of a test."""
        for site in SITES:
            self.run(site, "ip", "neigh", "flush", "dev", "exp0")

    def close(self) -> None:
        self.holder.kill()
        self.holder.wait()

    @contextlib.contextmanager
    def wan(
        self,
        sites: int = 2,
        *,
        options: tuple[object, ...] = (),
        top: dict[str, Any] | None = None,
        **link: Any,
    ) -> Iterator[Emulator]:
        """Runs the emulator with the same link between every two of the first `sites` sites.

        `top`: more keys of the configuration; `options`: of the command line.
        """
        emulator = Emulator(self, {**configuration(sites, **link), **(top or {})}, options)
        try:
            yield emulator
        finally:
            emulator.kill()


class Emulator:
    """A running emulator."""

    def __init__(
        self, laboratory: Laboratory, config: dict[str, Any], options: tuple[object, ...] = ()
    ) -> None:
        folder = laboratory.folder
        self.control = folder / "wan.sock"
        self.stats_file = folder / "stats.json"
        self.stats_file.unlink(missing_ok=True)
        (folder / "wan.json").write_text(json.dumps(config))
        # sh prints its process ID and becomes the emulator, so that signals reach it and not
        # nsenter.
        self.process = laboratory.start(
            "hub",
            "sh",
            "-c",
            'read pid rest < /proc/self/stat && echo $pid && exec "$@"',
            "sh",
            laboratory.program,
            "--config",
            folder / "wan.json",
            "--control",
            self.control,
            "--stats",
            self.stats_file,
            *options,
        )
        assert self.process.stdout is not None
        self.pid = int(self.process.stdout.readline())
        ready = self.process.stdout.readline()
        assert ready == "ready\n", self.process.stderr and self.process.stderr.read()

    def stats(self) -> dict[str, Any]:
        return checked(self.command("stats"))

    def change(self, **change: Any) -> dict[str, Any]:
        return self.command(json.dumps({"change": change}))

    def command(self, line: str) -> dict[str, Any]:
        """Returns the answer to a line on the control socket."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(LIMIT_S)
            client.connect(str(self.control))
            client.sendall(line.encode() + b"\n")
            with client.makefile() as answer:
                found: dict[str, Any] = json.loads(answer.readline())
        return found

    def signal(self, *numbers: signal.Signals) -> int:
        """Sends each signal after the previous one was taken; returns the exit code."""
        for number in numbers:
            while self._is_pending(number):
                time.sleep(0.02)
            os.kill(self.pid, number)
        return self.process.wait(timeout=LIMIT_S)

    def _is_pending(self, number: signal.Signals) -> bool:
        """Returns whether a signal is pending; a second one would merge with it."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        pending = status.split("ShdPnd:")[1].split()[0]
        return bool(int(pending, 16) >> (number - 1) & 1)

    def kill(self) -> None:
        """Ends it if it still runs; killing `nsenter` instead would leave it alive."""
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> dict[str, Any]:
        assert self.signal(signal.SIGTERM) == 0
        return checked(json.loads(self.stats_file.read_text()))


def read_fates(file: Path) -> Any:
    """Returns the records of a log of fates as a numpy array; `fates.rs` describes the columns."""
    import numpy as np

    with file.open("rb") as text:
        header = json.loads(text.readline())
    return np.fromfile(file, [tuple(pair) for pair in header["dtype"]], offset=header["offset"])


def configuration(sites: int, **link: Any) -> dict[str, Any]:
    names = SITES[:sites]
    return {
        "seed": 1,
        "ports": [{"name": name, "interface": f"up-{name}"} for name in names],
        "links": [{"a": a, "b": b, **link} for i, a in enumerate(names) for b in names[i + 1 :]],
    }


def checked(stats: dict[str, Any]) -> dict[str, Any]:
    """Checks that every frame and byte has exactly one fate."""
    for link in stats["links"]:
        for unit in ("", "_bytes"):
            causes = ("queue", "codel", "loss", "uplink", "downlink", "send", "oversize")
            fates = ("delivered", "in_flight", *(f"dropped_{cause}" for cause in causes))
            entered = link[f"received{unit}"] + link[f"duplicated{unit}"]
            assert entered == sum(link[f"{fate}{unit}"] for fate in fates), link
    return stats
