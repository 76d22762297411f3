"""The parts of an experiment file for how runs are measured and which of them are valid."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from flowsweep.defaults import BIN_NS
from flowsweep.experiment.quantities import Duration, Model, Share, Size


class Capture(Model):
    """Settings of the capture agent on every host."""

    snaplen: int = Field(128, ge=64, le=262_144, description="Bytes kept of each packet.")
    filter: str = Field("", description="A BPF filter; empty takes everything.")
    buffer_bytes: Size = Field(
        32 * 2**20, alias="buffer", description="Ring between kernel and agent."
    )


class Emulation(Model):
    """The backend that makes the links."""

    backend: Literal["auto", "flowsweep-wan", "netem"] = Field(
        "auto",
        description="auto: netem where the kernel has it and it can do what is asked, "
        "else flowsweep-wan.",
    )
    overhead: Literal["none", "ethernet"] = Field(
        "none",
        description="ethernet: preamble, FCS and gap count towards the rate (24 bytes a frame), "
        "and no frame less than 60 bytes.",
    )
    fates: bool = Field(
        False, description="Keep the fate of every frame in wan.fates of the run (flowsweep-wan)."
    )


class Limits(Model):
    """Limits of disturbance within which a run counts."""

    other_programs: Share = Field(
        0.6,
        description="Share of all cores that programs outside the testbed, and other virtual "
        "machines on the same host, may use; half of it while no core is idle, as with a busy "
        "loop on every core, because then the run had less than it wanted. 100 %: not looked at.",
    )
    cpu_pressure: Share = Field(
        0.9,
        description="Share of the time in which something had to wait for a core; not applied to "
        "busy workloads, whose ranks share cores among themselves.",
    )
    lateness_ns: Duration = Field(
        1_000_000, alias="lateness", description="How late the emulator may be at p99."
    )
    lateness_share: Share = Field(0.05, description="The same as a share of the shortest RTT.")


class Analysis(Model):
    """Settings of the tables."""

    bin_ns: Duration = Field(BIN_NS, alias="bin", description="Bin of the throughput table.")
    match: bool = Field(
        False,
        description="Whether the captures of all hosts are put together: one-way delays, what "
        "became of each packet, and where the completion time goes. Takes about as long again as "
        "the other tables.",
    )


class Flows(Model):
    """The engine that makes flows of the captures."""

    engine: Literal["native", "zeek", "both"] = Field(
        "native",
        description="Who makes them: flowsweep's own parser, Zeek, or both, to be compared.",
    )
