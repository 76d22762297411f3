"""Runs commands on machines by ssh, over one connection to each."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowsweep.testbed.machines.spec import MachineSpec


class Ssh:
    """Reaches machines by ssh. `options`: the user's; `control`: a folder for its sockets."""

    expected = "a machine that ssh reaches without a password"
    answer_limit_s = 60.0

    def __init__(self, options: list[str], control: Path) -> None:
        shared = ["ControlMaster=auto", f"ControlPath={control}/%C", "ControlPersist=60"]
        more = ["BatchMode=yes", "ServerAliveInterval=5", "ServerAliveCountMax=3"]
        words = [word for option in [*shared, *more] for word in ("-o", option)]
        # The user's options come first: ssh uses the first value of an option.
        self._ssh = ["ssh", *options, *words]

    def words(self, machine: MachineSpec, command: str) -> list[str]:
        """See `Reach`."""
        return [*self._ssh, machine.login, command]

    def unseen(self, machine: MachineSpec) -> str:
        """Returns a filter that leaves out the port of ssh itself."""
        printed = subprocess.run(
            [*self._ssh, "-G", machine.login], capture_output=True, text=True, check=False
        ).stdout
        port = re.search(r"^port ([0-9]+)$", printed, re.MULTILINE)
        return f"not tcp port {port[1] if port else 22}"

    def remedy(self, machine: MachineSpec) -> str:
        """Returns the same command to try by hand."""
        return f"ssh {machine.login} true; testbed.sudo if it is a matter of rights"

    def mpirun(self, words: list[str]) -> list[str]:
        """Makes mpirun start its daemons by the same ssh."""
        return [words[0], "--prtemca", "plm_ssh_agent", shlex.join(self._ssh), *words[1:]]

    def leave(self, machines: list[MachineSpec]) -> None:
        """Closes all connections."""
        for machine in machines:
            words = [*self._ssh, "-O", "exit", machine.login]
            subprocess.run(words, capture_output=True, check=False)
