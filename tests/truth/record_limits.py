"""Records the grid of writers for `limits.py`: headers at both hosts, and the kernel's account.

One folder per flow: `sender.pcap` and `receiver.pcap` (96 bytes of each packet), `truth.npz` from
`writers.py`, and `flow.json` with the flow's parameters. A complete flow is not recorded again.
`record_limits.py FOLDER`; `--buffers` records the flows of `fit_limits.py`, each for
BUFFERS_SECONDS, one at a time.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "emulator"))

from laboratory import LIMIT_S, Laboratory
from writers import BUFFERED, WRITERS

PROGRAMS = Path(sys.executable).parent
EAST = "10.77.2.1"
MBIT = 1_000_000
RTTS_MS = (1, 4, 16, 64)
RATES_MBIT = (10, 100, 300)
CONGESTION = ("reno", "cubic", "bbr")
SECONDS = 2.5
BUFFERS_SECONDS = 1.5
#: The queue of a link has the size of the bandwidth-delay product, but at least this.
LEAST_QUEUE = 64_000
NAMED = ("sh", "-c", 'read pid rest < /proc/self/stat && echo $pid && exec "$@"', "sh")


@dataclass(frozen=True)
class Flow:
    """One recording."""

    writer: str
    congestion: str
    rtt_ms: int
    rate_mbit: int
    variant: str = ""

    @property
    def name(self) -> str:
        parts = (self.writer, self.congestion, f"{self.rtt_ms}ms", f"{self.rate_mbit}M")
        return ",".join((*parts, self.variant) if self.variant else parts)


def grid() -> list[Flow]:
    """Returns every writer at every RTT, rate and congestion control."""
    cells = itertools.product(RTTS_MS, RATES_MBIT, CONGESTION, WRITERS)
    return [Flow(writer, congestion, rtt, rate) for rtt, rate, congestion, writer in cells]


def variants() -> list[Flow]:
    """Returns every writer with GRO at the receiver, and with delayed acknowledgements."""
    return [
        Flow(writer, "cubic", rtt, 100, variant)
        for variant, writer, rtt in itertools.product(("gro", "slow-ack"), WRITERS, (4, 16))
    ]


def buffers() -> list[Flow]:
    """Returns send buffers with receive windows, and the plain writers on fewer paths."""
    flows = [
        Flow(writer, congestion, rtt, rate)
        for rtt, rate in ((20, 100), (60, 100), (5, 100), (20, 30))
        for congestion, writer in itertools.product(CONGESTION, BUFFERED)
    ]
    plain = [name for name in WRITERS if name not in (*BUFFERED, "bulk", "small-window")]
    return flows + [
        Flow(writer, congestion, rtt, rate)
        for rtt, rate in ((20, 100), (5, 30), (60, 30))
        for congestion, writer in itertools.product(CONGESTION, plain)
    ]


class Bed(Laboratory):
    """West sends to east at an MTU of 1500."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PROGRAMS / "flowsweep-wan")
        for site in ("west", "east"):
            self.run(site, "ip", "link", "set", "exp0", "mtu", 1500)
            # Metrics that one flow learned about the path must not affect the next one.
            self.run(site, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")

    def record(self, flow: Flow, keep: Path, seconds: float) -> None:
        """Records `seconds` of the flow over the existing link."""
        folder = keep / flow.name
        folder.mkdir(parents=True, exist_ok=True)
        gro = "on" if flow.variant == "gro" else "off"
        self.run("east", "ethtool", "-K", "exp0", "gro", gro)
        script = Path(__file__).with_name("writers.py")
        slow = ("slow-ack",) if flow.variant == "slow-ack" else ()
        receiver = self.start("east", sys.executable, script, "receive", EAST, flow.writer, *slow)
        with (
            self._capture("west", folder / "sender.pcap"),
            self._capture("east", folder / "receiver.pcap"),
        ):
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == "ready\n"
            rate = flow.rate_mbit * MBIT
            arguments = (EAST, flow.writer, seconds, flow.congestion, rate, folder / "truth.npz")
            sender = self.start("west", sys.executable, script, "send", *arguments)
            _, errors = sender.communicate(timeout=LIMIT_S)
            assert sender.returncode == 0, errors
            assert receiver.wait(timeout=LIMIT_S) == 0
        (folder / "flow.json").write_text(json.dumps(asdict(flow)) + "\n")

    @contextlib.contextmanager
    def _capture(self, site: str, file: Path) -> Iterator[None]:
        agent = self.start(
            site,
            *(*NAMED, PROGRAMS / "flowsweep-capture", "--interface", "exp0"),
            *("--write", file, "--snaplen", 96),
        )
        assert agent.stdout is not None
        pid = int(agent.stdout.readline())
        try:
            line = agent.stdout.readline()
            assert line == "ready\n", line or agent.communicate()
            yield
        finally:
            os.kill(pid, signal.SIGTERM)
            assert agent.wait(timeout=LIMIT_S) == 0


def link(flow: Flow) -> dict[str, object]:
    """Returns the emulator's settings."""
    rate = flow.rate_mbit * MBIT
    held = int(rate / 8 * flow.rtt_ms / 1e3)
    return {
        "delay_ns": flow.rtt_ms * MBIT // 2,
        "rate_bit_s": rate,
        "queue_bytes": max(LEAST_QUEUE, held),
    }


def record(flows: list[Flow], keep: Path, seconds: float) -> None:
    """Records the missing flows, one after another."""
    missing = [flow for flow in flows if not (keep / flow.name / "flow.json").exists()]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(Path(folder))
        try:
            for _, alike in itertools.groupby(missing, lambda flow: (flow.rtt_ms, flow.rate_mbit)):
                names = list(alike)
                with bed.wan(**link(names[0])):
                    for flow in names:
                        bed.record(flow, keep, seconds)
        finally:
            bed.close()


def record_all(flows: list[Flow], keep: Path, beds: int, seconds: float = SECONDS) -> None:
    """Records on `beds` testbeds at once, each with every `beds`-th cell."""
    cells = [
        list(group) for _, group in itertools.groupby(flows, lambda f: (f.rtt_ms, f.rate_mbit))
    ]
    shares = [list(itertools.chain(*cells[bed::beds])) for bed in range(beds)]
    with ThreadPoolExecutor(beds) as pool:
        for done in [pool.submit(record, share, keep, seconds) for share in shares]:
            done.result()


if __name__ == "__main__":
    if "--buffers" in sys.argv:
        record_all(buffers(), Path(sys.argv[1]), beds=1, seconds=BUFFERS_SECONDS)
    else:
        record_all(grid() + variants(), Path(sys.argv[1]), beds=2)
