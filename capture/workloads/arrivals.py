"""Waits for messages without keeping a core busy."""

from __future__ import annotations

import select
import time
from pathlib import Path

FULL_POLL_S = 1e-3  # interval of checks on full connections
RESCAN_S = 20e-3


class Arrivals:
    """Waits until data may have arrived on a TCP connection of this process.

    MPI does not reveal its sockets, but the kernel does. A false alarm costs one check.
    """

    def __init__(self) -> None:
        self._sockets: dict[str, str] = {}
        self._poll = select.poll()
        self._next_scan = 0.0

    def wait(self, limit_s: float, *, room: bool = False) -> None:
        """Returns at an arrival, or after `limit_s`.

        `room`: also when a full connection can take more data.
        """
        if time.monotonic() >= self._next_scan:
            self._scan()
        if room:
            self._poll_for_room().poll(min(limit_s, FULL_POLL_S) * 1e3)
        elif limit_s < 1e-3 or not self._sockets:
            time.sleep(limit_s)
        else:
            self._poll.poll(limit_s * 1e3)

    def _poll_for_room(self) -> select.poll:
        poll = select.poll()
        for name in self._sockets:
            poll.register(int(name), select.POLLOUT)
        writable = {descriptor for descriptor, _ in poll.poll(0)}
        for descriptor in map(int, self._sockets):
            full = descriptor not in writable
            poll.modify(descriptor, select.POLLIN | select.POLLOUT if full else select.POLLIN)
        return poll

    def _scan(self) -> None:
        """Updates the list of sockets, as MPI opens and closes connections at any time."""
        self._next_scan = time.monotonic() + RESCAN_S
        found = {}
        for entry in Path("/proc/self/fd").iterdir():
            try:
                target = str(entry.readlink())
            except OSError:
                continue
            if target.startswith("socket:"):
                found[entry.name] = target
        if found == self._sockets:
            return
        self._sockets = found
        self._poll = select.poll()
        for name in found:
            self._poll.register(int(name), select.POLLIN)
