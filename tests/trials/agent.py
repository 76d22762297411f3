"""The capture agent on a virtual cable, disturbed while it captures and rotates."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import polars as pl
from commands import Command
from control import Control, Kind
from trial import Trial

import flowsweep

CAPTURE = ("-i", "far", "--filter", "udp port 9", "--rotate-time", "100ms")
#: A namespace and a cable, from the agent's tests.
CABLE = Path(__file__).parents[1] / "capture/conftest.py"
UNSHARE = ["unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--mount", "true"]


def torn_in(folder: Path) -> list[str]:
    """Returns captures and manifests with final names that cannot be read to the end."""
    found = []
    for path in sorted(folder.iterdir()):
        try:
            if path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".zst":
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    pl.DataFrame(flowsweep.read_captures(path))
        except (ValueError, Warning, flowsweep.FlowsweepError) as error:
            found.append(f"{path.name}: {error}")
    return found


COMMAND = Command("flowsweep-capture", "flowsweep-capture", check=torn_in, is_slow=True)


def why_not() -> str | None:
    """Returns why no cable is possible here, or None."""
    done = subprocess.run(UNSHARE, capture_output=True, text=True, check=False)
    return done.stderr.strip() or "unshare failed" if done.returncode else None


class Agent:
    """The agent, which leaves a complete capture before the one that is disturbed.

    Attributes:
        points: The calls that may be disturbed; fewer if packets arrive later.
        kill_points: The calls at which a kill may leave other files than at the previous one.
    """

    def __init__(self, temporary: Path) -> None:
        spec = importlib.util.spec_from_file_location("cable", CABLE)
        module = importlib.util.module_from_spec(spec)
        sys.modules["cable"] = module
        spec.loader.exec_module(module)
        self.folder, self._saved = temporary / "trial", temporary / "saved"
        self._control = Control(temporary)
        self._cable = module.Cable(Path(sys.executable).parent / COMMAND.name)
        self.folder.mkdir()
        self._capture()
        self.folder.rename(self._saved)
        self._restore()
        self._control.arm(self.folder)
        self._capture()
        self.points, _ = self._control.disarm()
        self.kill_points = self._control.kill_points(self.points)

    def end(self) -> None:
        """Removes the cable."""
        self._cable.close()

    def _restore(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self._saved, self.folder)

    def _capture(self) -> tuple[int, str]:
        """Captures for half a second; returns exit code and message."""
        keep = ("LD_PRELOAD", "TRIALS_CONTROL")
        loaded = [f"{name}={self._control.environment[name]}" for name in keep]
        program = ("env", *loaded, self._cable.program)
        agent = self._cable.start(*CAPTURE, "-w", self.folder / "pc1.pcap.zst", under=program)
        if agent.is_ready():
            for _ in range(3):
                self._cable.burst(100)
                time.sleep(0.12)
        # An agent that has ended keeps its exit code; one that still runs is stopped.
        code = agent.wait() if agent.process.poll() is not None else self._stop(agent)
        return code, agent.errors()

    @staticmethod
    def _stop(agent: object) -> int:
        try:
            return agent.stop()
        except ProcessLookupError:
            return agent.wait()

    def attempt(self, kind: Kind, at: int) -> Trial:
        """Disturbs a capture at one call, and makes another one afterwards."""
        trial = Trial(COMMAND.name, kind.label, at)
        self._restore()
        self._control.arm(self.folder, kind, at)
        code, errors = self._capture()
        _, trial.call = self._control.disarm()
        trial.call = trial.call.replace(f"{self.folder}/", "")
        killed = code in {-9, 137} and kind.kills
        if not killed and (code not in {0, 1, 2} or "panicked" in errors or (code and not errors)):
            trial.note("message", f"exit code {code}: {errors}")
        trial.note("whole", *torn_in(self.folder))
        code, errors = self._capture()
        if code != 0:
            trial.note("again", f"exit code {code}: {errors}")
        trial.note("again", *torn_in(self.folder))
        left = [path.name for path in self.folder.iterdir() if path.suffix == ".part"]
        trial.note("leftovers", *left)
        return trial
