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
    """A testbed of some kind for one run, and the tries of that run that are invalid.

    `lock`: the descriptor of a file that is locked while the session makes runs: see `lock`.
    """

    lock: int

    def run(self, spec: Spec, say: Say) -> RunResult:
        """Sets the testbed up, makes one captured run, takes it down.

        Raises:
            TransientError: A part of the testbed failed that may work the next time.
            FlowsweepError: It cannot be set up as it is described.
        """
        ...


class Kind(Protocol):
    """Makes runs on hosts of one kind; `Settings` of the same package says what it can do."""

    def session(self, run: Run, ahead: Session | None) -> Session:
        """A testbed for this run; `ahead`: one of this machine that is waiting already."""
        ...

    def describe(self, spec: Spec, run: Run) -> Spec:
        """The description with what only this kind knows."""
        ...

    def python_on_host(self, run: Run, program: Path) -> list[str]:
        """The words that start a Python program of `capture/workloads` on a host."""
        ...

    def warnings(self, runs: Sequence[Run]) -> list[str]:
        """A line for each thing that will make some of these runs fail."""
        ...

    def shell(self, run: Run, program: list[str], say: Say) -> int:
        """Sets the testbed up, runs a command beside the hosts; its exit code.

        Raises:
            FlowsweepError: This kind has no shell.
        """
        ...
