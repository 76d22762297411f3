"""The interface of a kind of testbed: the one place where kinds differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from flowsweep.experiment import Run
    from flowsweep.testbed.result import RunResult
    from flowsweep.testbed.spec import Spec

Say = Callable[[str], None]


class Session(Protocol):
    """A testbed for one run, including its invalid tries.

    `lock`: descriptor of the file that is locked while the session makes runs: see `lock`.
    """

    lock: int

    def run(self, spec: Spec, say: Say) -> RunResult:
        """Sets the testbed up, makes one captured run, takes it down.

        Raises:
            TransientError: A part of the testbed failed, and may work the next time.
            FlowsweepError: The testbed cannot be set up as described.
        """
        ...


class Kind(Protocol):
    """Makes runs on one kind of hosts; `Settings` of the same package states what it can do."""

    def session(self, run: Run, ahead: Session | None) -> Session:
        """Returns a testbed for this run; `ahead`: one of this machine that is already waiting."""
        ...

    def describe(self, spec: Spec, run: Run) -> Spec:
        """Returns the description, with details that only this kind knows."""
        ...

    def python_on_host(self, run: Run, program: Path) -> list[str]:
        """Returns the words that start a Python program of `capture/workloads` on a host."""
        ...

    def warnings(self, runs: Sequence[Run]) -> list[str]:
        """Returns a line for each reason why some of these runs will fail."""
        ...

    def shell(self, run: Run, program: list[str], say: Say) -> int:
        """Sets the testbed up and runs a command next to the hosts; returns its exit code.

        Raises:
            FlowsweepError: This kind has no shell.
        """
        ...
