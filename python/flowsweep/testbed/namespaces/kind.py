"""The kind `namespaces`: hosts and links emulated on this machine."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.testbed import describe, lock
from flowsweep.testbed.namespaces import congestion, isolation
from flowsweep.testbed.result import RunResult
from flowsweep.testbed.transient import TransientError

if TYPE_CHECKING:
    from flowsweep.experiment import Run
    from flowsweep.testbed.kind import Session
    from flowsweep.testbed.spec import Spec


@dataclass
class Ahead:
    """A session whose hub may start while the experiment is still being read."""

    lock: int
    hub: isolation.Hub | None = None

    @classmethod
    def start(cls) -> Ahead:
        """Starts a hub that waits, and opens the lock file of its later runs."""
        descriptor = lock.open_file()
        with contextlib.suppress(TransientError):  # `take` tries again
            return cls(descriptor, isolation.Hub("run", descriptor))
        return cls(descriptor)

    def take(self) -> isolation.Hub:
        """Returns the waiting hub, or a new one."""
        hub, self.hub = self.hub, None
        return hub or isolation.Hub("run", self.lock)

    def run(self, spec: Spec, say: Callable[[str], None]) -> RunResult:
        """Makes one run by a hub."""
        _, outcome = isolation.run(spec, "run", self.lock, say, self.take)
        return RunResult.from_json(outcome["run"])

    def cancel(self) -> None:
        """Ends the hub if nobody took it."""
        if self.hub is not None:
            self.hub.cancel()
            self.hub = None


class Namespaces:
    """Makes runs in private namespaces: see `isolation`."""

    def session(self, run: Run, ahead: Session | None) -> Session:
        """Returns the waiting session, or a new one."""
        del run
        return ahead or Ahead(lock.open_file())

    def describe(self, spec: Spec, run: Run) -> Spec:
        """Returns the description unchanged: it is complete for namespaces."""
        del run
        return spec

    def python_on_host(self, run: Run, program: Path) -> list[str]:
        """Returns the words for this Python: the hosts share the files of this machine."""
        del run
        return [sys.executable, str(program)]

    def warnings(self, runs: Sequence[Run]) -> list[str]:
        """Returns a line for each congestion control that this kernel lacks."""
        return congestion.warnings(runs)

    def shell(self, run: Run, program: list[str], say: Callable[[str], None]) -> int:
        """Runs a command in the hub; returns its exit code."""
        spec = replace(describe.spec_of(run), program=program)
        with lock.exclusive("a testbed shell", say) as held:
            code, _ = isolation.run(spec, "shell", held, say)
        return code


KIND = Namespaces()
