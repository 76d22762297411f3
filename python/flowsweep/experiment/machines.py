"""The places of an experiment's hosts: namespaces of this machine, or real machines."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from flowsweep.experiment.quantities import Model


class Machine(Model):
    """A real machine that is a host of the experiment."""

    login: str | None = Field(
        None, description="What ssh is told: user@machine, or a name of its configuration."
    )
    address: str = Field(
        description="Its IPv4 address on the network that is captured.",
        pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$",
    )
    interface: str | None = Field(
        None, description="The interface to capture on. Default: the one that has the address."
    )


class Testbed(Model):
    """Namespaces with emulated links, or machines that ssh reaches without a password."""

    kind: Literal["namespaces", "ssh"] = "namespaces"
    hosts: dict[str, Machine] = Field(
        default_factory=dict, description="ssh: the machine of each host, by name."
    )
    options: list[str] = Field(
        default_factory=list, description='Options of ssh, such as ["-F", "ssh_config"].'
    )
    folder: str = Field(
        "/tmp/flowsweep",  # noqa: S108 - on the machines, a folder of its own is made in it
        description="Folder on the machines for agent and captures; a local disk. Nobody but the "
        "user of ssh and root may write to it, or rename it.",
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
