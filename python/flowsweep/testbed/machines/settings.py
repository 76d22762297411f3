"""The settings of an experiment file for real machines, however they are reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field

from flowsweep.experiment import settings
from flowsweep.experiment.axes import LINK_AXES
from flowsweep.validation import refused


class Settings(settings.Settings):
    """How machines are used."""

    folder: str = Field(
        "/tmp/flowsweep",  # noqa: S108 - on the machines, a folder of its own is made in it
        description="Folder on the machines for agent and captures; a local disk. Nobody but the "
        "user who is there and root may write to it, or rename it.",
        pattern=r"^/[A-Za-z0-9._/-]+$",
    )
    sudo: bool = Field(
        False,
        description="Capture and change settings by `sudo -n`; else login as root, or setcap.",
    )
    change_hosts: bool = Field(
        True,
        description="Switch segmentation offloads off and set TCP as in namespaces; all is put "
        "back afterwards. Needs root.",
    )
    python: str = Field("python3", description="Python with mpi4py on the machines, for apps.")
    workloads: str | None = Field(
        None,
        description="Folder capture/workloads on the machines. Default: the same path as here.",
    )
    mpirun: list[str] = Field(default_factory=list, description="Further options of mpirun.")

    def python_there(self, program: Path) -> list[str]:
        """Returns the words that start a program of `capture/workloads` on a machine."""
        there = str(program)
        if self.workloads is not None:
            there = str(Path(self.workloads) / program.parent.name / program.name)
        return [self.python, there]


def check_axes(kind: str, axes: Mapping[str, Iterable[str]], remedy: str = "") -> None:
    """Raises if an axis needs emulated links.

    Args:
        kind: Kind of the testbed.
        axes: Names of the swept axes by workload.
        remedy: What the file may have instead.
    """
    for axis in (axis for given in axes.values() for axis in given):
        if axis in LINK_AXES:
            raise refused(
                f"axes: {axis} cannot be swept on real machines",
                f"`testbed: {{kind: {kind}}}` and an axis `{axis}`",
                f"axes other than {', '.join(LINK_AXES)}{remedy}",
            )
