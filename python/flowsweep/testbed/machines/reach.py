"""The interface to machines, in which kinds of testbeds with real machines differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from flowsweep.testbed.machines.spec import MachineSpec


class Reach(Protocol):
    """Runs commands on machines.

    Attributes:
        expected: What a machine should be, for messages.
        answer_limit_s: Timeout in seconds of a command that should end at once.
    """

    expected: str
    answer_limit_s: float

    def words(self, machine: MachineSpec, command: str) -> list[str]:
        """Returns the words to start here so that a shell there runs `command`, the last word.

        They pass on standard input, output and error of the command.
        """
        ...

    def unseen(self, machine: MachineSpec) -> str:
        """Returns a filter (BPF) that leaves out our own connections; empty if there are none."""
        ...

    def remedy(self, machine: MachineSpec) -> str:
        """Returns what to do if a machine does not answer."""
        ...

    def mpirun(self, words: list[str]) -> list[str]:
        """Returns the words of mpirun, with options to start its daemons on the `login` names."""
        ...

    def leave(self, machines: list[MachineSpec]) -> None:
        """Closes all our connections after a run, whatever happened."""
        ...


class Links(Protocol):
    """Emulated links between the machines."""

    def start(self) -> None:
        """Starts the links when the machines are ready; returns when frames get through."""
        ...

    def check_alive(self) -> None:
        """Raises if a part of the links has ended."""
        ...

    def stop(self) -> dict[str, Any]:
        """Takes the links down; returns the record `emulator` of the run."""
        ...

    def leave(self) -> None:
        """Takes the links down, whatever happened."""
        ...


class AsTheyAre:
    """Links that are left as they are."""

    def start(self) -> None:
        """Does nothing: there are no links to make."""

    def check_alive(self) -> None:
        """Does nothing: the links are the existing network."""

    def stop(self) -> dict[str, Any]:
        """Returns the record for run.json."""
        return {"backend": "none", "backend_reason": "real machines", "links": []}

    def leave(self) -> None:
        """Does nothing: there are no links to make."""
