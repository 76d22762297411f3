"""Two hosts connected by the emulator, with the capture agent at the sender's host."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from laboratory import LIMIT_S, Laboratory

PROGRAMS = Path(sys.executable).parent
SENDER = Path(__file__).parent / "sender.py"
EAST = "10.77.2.1"
# sh prints its process ID and then becomes the agent, so that the agent gets the signal.
NAMED = ("sh", "-c", 'read pid rest < /proc/self/stat && echo $pid && exec "$@"', "sh")


class Hosts(Laboratory):
    """The emulator's laboratory at an MTU of 1500: west sends, east receives."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PROGRAMS / "flowsweep-wan")
        for site in ("west", "east"):
            self.run(site, "ip", "link", "set", "exp0", "mtu", 1500)

    def measure(
        self, title: str, names: tuple[str, ...], seconds: float, **link: Any
    ) -> tuple[list[dict[str, Any]], Path]:
        """Runs phases at once over one link; returns the senders' reports and the sender's capture.

        A name that occurs n times in `names` is a phase with n connections.
        """
        file = self.folder / f"{title}.pcap.zst"
        with self.wan(**link):
            agent = self.start(
                "west",
                *(*NAMED, PROGRAMS / "flowsweep-capture", "--interface", "exp0"),
                *("--write", file, "--snaplen", 128),
            )
            assert agent.stdout is not None
            pid = int(agent.stdout.readline())
            try:
                assert agent.stdout.readline() == "ready\n"
                reports = self._run(names, seconds)
            finally:
                os.kill(pid, signal.SIGTERM)
                assert agent.wait(timeout=LIMIT_S) == 0
        return reports, file

    def _run(self, names: tuple[str, ...], seconds: float) -> list[dict[str, Any]]:
        receiver = self.start("east", sys.executable, SENDER, "receive", EAST, *names)
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "ready\n"
        common = (sys.executable, SENDER, "send", EAST)
        senders = [self.start("west", *common, name, seconds, "cubic") for name in names]
        reports = []
        for sender in senders:
            output, errors = sender.communicate(timeout=LIMIT_S)
            assert sender.returncode == 0, errors
            reports.append(json.loads(output))
        assert receiver.wait(timeout=LIMIT_S) == 0
        return reports
