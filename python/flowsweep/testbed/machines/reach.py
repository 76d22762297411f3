"""The interface to machines: what kinds of testbeds with real machines differ in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from flowsweep.testbed.machines.spec import MachineSpec


class Reach(Protocol):
    """Runs commands on machines.

    Attributes:
        expected: What a machine should be, for messages.
        answer_limit_s: Seconds after which a command that takes no time is given up.
    """

    expected: str
    answer_limit_s: float

    def words(self, machine: MachineSpec, command: str) -> list[str]:
        """What is started here so that a shell there runs `command`, which is the last word.

        Standard input, output and error are those of the command.
        """
        ...

    def unseen(self, machine: MachineSpec) -> str:
        """A filter (BPF) that leaves out our own connections; empty if there is nothing to do."""
        ...

    def remedy(self, machine: MachineSpec) -> str:
        """What to do where a machine does not answer."""
        ...

    def mpirun(self, words: list[str]) -> list[str]:
        """The words of mpirun with what it needs to start its daemons, by `login`."""
        ...

    def leave(self, machines: list[MachineSpec]) -> None:
        """After a run, whatever happened: nothing of ours stays open."""
        ...


class Links(Protocol):
    """Emulated links between the machines."""

    def start(self) -> None:
        """When the machines are ready; returns when frames get through."""
        ...

    def check_alive(self) -> None:
        """Raises when a part of them has ended."""
        ...

    def stop(self) -> dict[str, Any]:
        """Takes them down; the record `emulator` of the run."""
        ...

    def leave(self) -> None:
        """Whatever happened: as `stop`."""
        ...


class AsTheyAre:
    """Links that are left as they are."""

    def start(self) -> None:
        """Does nothing: there are no links to make."""

    def check_alive(self) -> None:
        """Does nothing: the links are the network as it is."""

    def stop(self) -> dict[str, Any]:
        """What stands in run.json."""
        return {"backend": "none", "backend_reason": "real machines", "links": []}

    def leave(self) -> None:
        """Does nothing: there are no links to make."""
