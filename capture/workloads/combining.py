"""A rank's compiled share of a distributed search; combines entries for other ranks in messages."""

from __future__ import annotations

import ctypes
from typing import Any

import common

HANDLE, SIZE, POINTER = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p


class Share:
    """The functions `flowsweep_<kernel>_<name>` of one kernel, on one share.

    Every kernel has new, absorb, waiting and take; `functions` are the others: name, result
    type, types of the arguments after the share.
    """

    def __init__(
        self, kernel: str, entry_bytes: int, new: tuple[Any, ...], **functions: Any
    ) -> None:
        self._library = common.kernels()
        self._kernel = kernel
        self._entry_bytes = entry_bytes
        self.call: dict[str, Any] = {}
        for name, (result, *arguments) in {
            "absorb": (ctypes.c_int64, POINTER, SIZE),
            "waiting": (SIZE, SIZE),
            "take": (SIZE, SIZE, POINTER, SIZE),
            **functions,
        }.items():
            self.call[name] = self.function(name, result, HANDLE, *arguments)
        make = self.function("new", HANDLE, *(kind for kind, _ in new))
        self.share = make(*(value for _, value in new))
        if not self.share:
            raise ValueError(f"{kernel}: no share for {[value for _, value in new]}")

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """Returns one function of the kernel."""
        found = getattr(self._library, f"flowsweep_{self._kernel}_{name}")
        found.restype, found.argtypes = result, arguments
        return found

    def absorb(self, data: bytearray) -> int:
        """Takes entries from another rank; returns how many."""
        room = (ctypes.c_char * len(data)).from_buffer(data)
        entries: int = self.call["absorb"](self.share, room, len(data))
        if entries < 0:
            raise ValueError(f"{len(data)} bytes are not entries of {self._kernel}")
        return entries

    def waiting(self, rank: int) -> int:
        """Returns the bytes that wait to be sent to a rank."""
        return int(self.call["waiting"](self.share, rank)) * self._entry_bytes

    def take(self, rank: int, most: int) -> bytearray:
        """Removes and returns the content of the next message to a rank."""
        out = bytearray(min(most // self._entry_bytes * self._entry_bytes, self.waiting(rank)))
        if out:
            room = (ctypes.c_char * len(out)).from_buffer(out)
            self.call["take"](self.share, rank, room, len(out))
        return out


def peers(rank: int, ranks: int) -> list[int]:
    """Lists the other ranks, starting after this one, so that not all send to the same rank."""
    return [(rank + step) % ranks for step in range(1, ranks)]
