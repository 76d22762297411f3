"""The emulated network of an experiment file: sites, links between them, TCP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from flowsweep.experiment.quantities import (
    Congestion,
    Duration,
    Jitter,
    JitterText,
    Model,
    Rate,
    Share,
    Size,
    Time,
)
from flowsweep.validation import refused

MIN_QUEUE_BYTES = 128 * 1024
#: The most hosts of a site, as their addresses are 10.77.SITE.HOST.
MOST_HOSTS = 250


class Link(Model):
    """The emulated path between every pair of sites, at the baseline point."""

    rtt_ns: Time = Field(
        500_000, alias="rtt", description="Round-trip time added between two sites."
    )
    rate_bit_s: Rate = Field(
        1e9,
        alias="rate",
        description="Rate of each direction, of each parallel link; frames without FCS are counted "
        "unless `overhead` says otherwise.",
    )
    links: int = Field(
        1, ge=1, le=64, description="Parallel links bundled as in LACP; a flow stays on one."
    )
    hash: Literal["layer3+4", "layer2+3"] = Field(
        "layer3+4",
        description="What chooses the parallel link of a flow: addresses and ports, or addresses.",
    )
    queue_bytes: Size | None = Field(
        None,
        alias="queue",
        description="Queue of each direction, of each parallel link. "
        "Default: the bandwidth-delay product, at least 128 KiB.",
    )
    queue_packets: int | None = Field(
        None, ge=1, description="A limit in packets, beside the one in bytes."
    )
    discipline: Literal["drop-tail", "codel"] = Field(
        "drop-tail", description="What the queue does: drops at its end, or CoDel (RFC 8289)."
    )
    codel_target_ns: Duration = Field(5_000_000, alias="codel_target", description="CoDel: target.")
    codel_interval_ns: Duration = Field(
        100_000_000, alias="codel_interval", description="CoDel: interval."
    )
    loss: Share = Field(0.0, description="Share of frames lost in each direction.")
    loss_burst: float | None = Field(
        None,
        ge=1,
        description="Mean number of frames lost in a row (Gilbert-Elliott). "
        "Default: each frame is lost or not on its own.",
    )
    jitter: JitterText = Field(
        Jitter(),
        description="Standard deviation of the delay of each direction: a time, or a share of it "
        "in percent.",
    )
    jitter_law: Literal["uniform", "normal", "pareto"] = Field("normal")
    reorder: bool = Field(
        False,
        description="Frames may overtake each other by jitter. Default: the order is kept.",
    )
    duplicate: Share = Field(0.0, description="Share of frames that arrive twice.")

    @model_validator(mode="after")
    def _bursts_are_possible(self) -> Link:
        self.check_bursts()
        return self

    def check_bursts(self) -> None:
        """Raises if bursts are too short for the loss."""
        if self.loss_burst is None:
            return
        if self.loss >= 1:
            raise refused("everything is lost: there are no bursts", "loss 100%", "less than 100%")
        # Even if a burst begins behind each frame that arrives, bursts must be this long.
        least = self.loss / (1 - self.loss)
        if self.loss_burst < least * (1 - 1e-9):
            raise refused(
                "so much loss needs longer bursts",
                f"loss_burst {self.loss_burst:g}",
                f"{least:.3g} or more",
            )

    @property
    def is_random(self) -> bool:
        """Whether the fate of a frame is random."""
        return self.loss > 0 or self.duplicate > 0 or self.jitter.at_delay(self.rtt_ns // 2) > 0

    @property
    def effective_queue_bytes(self) -> int:
        """The queue of one direction: as requested, else the bandwidth-delay product."""
        if self.queue_bytes is not None:
            return self.queue_bytes
        return max(MIN_QUEUE_BYTES, round(self.rate_bit_s * self.rtt_ns / 8e9))


class Back(Link):
    """The way from the second site of a pair to the first, where it differs."""

    @model_validator(mode="after")
    def _refuse_rtt(self) -> Back:
        if "rtt_ns" in self.model_fields_set:
            raise refused(
                "a way back has no RTT of its own", "`rtt` under `back`", "`rtt` above it"
            )
        return self

    def given(self) -> dict[str, Any]:
        """Returns only the fields that the file sets for this direction."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Pair(Link):
    """One pair of sites whose link differs: what is not given is as in `link`."""

    between: tuple[str, str] = Field(description="The two sites.")
    back: Back | None = Field(
        None, description="What differs on the way from the second site to the first."
    )

    def given(self) -> dict[str, Any]:
        """Returns only the fields that the file sets for this pair."""
        names = self.model_fields_set - {"between", "back"}
        return {name: getattr(self, name) for name in names}


class Change(Link):
    """A change of links in mid-run: only what is given changes, at both ends."""

    at_ns: Time = Field(alias="at", description="Time after the start of the program.")
    between: tuple[str, str] | None = Field(
        None, description="The two sites. Default: every pair of sites."
    )

    def given(self) -> dict[str, Any]:
        """Returns only the fields that the file changes."""
        names = self.model_fields_set - {"between", "at_ns", "at"}
        return {name: getattr(self, name) for name in names}


class Uplink(Model):
    """The access line of a site, in each direction, that all its links share."""

    rate_bit_s: Rate = Field(alias="rate", description="Rate of each direction and parallel link.")
    queue_bytes: Size = Field(MIN_QUEUE_BYTES, alias="queue", description="Drop-tail queue.")
    links: int = Field(1, ge=1, le=64, description="Parallel links bundled as in LACP.")


class Site(Model):
    """Hosts that share a switch."""

    hosts: list[str] = Field(description="Names of the hosts, or how many.")
    uplink: Uplink | None = Field(
        None, description="An access line that limits what the site sends and receives in all."
    )

    @field_validator("hosts")
    @classmethod
    def _some(cls, hosts: list[str]) -> list[str]:
        if not hosts:
            raise refused("a site has no hosts", "an empty list", "at least one host")
        if len(hosts) > MOST_HOSTS:
            raise refused("too many hosts", f"{len(hosts)} of them", f"at most {MOST_HOSTS}")
        return hosts


def name_hosts(sites: Any) -> Any:
    """Expands `west: 4` and `west: [pc1, pc2]`; with a number, the hosts are named west1 ..."""
    if not isinstance(sites, dict):
        return sites
    return {name: _site(name, value) for name, value in sites.items()}


def _site(name: str, value: Any) -> Any:
    if isinstance(value, Site):
        return value
    site: dict[str, Any] = value if isinstance(value, dict) else {"hosts": value}
    count = site.get("hosts")
    if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= MOST_HOSTS:
        return {**site, "hosts": [f"{name}{number}" for number in range(1, count + 1)]}
    return site


class SiteText(Model):
    """The long form of a site."""

    hosts: list[str] | int
    uplink: Uplink | None = None


Sites = Annotated[
    dict[str, Site],
    BeforeValidator(name_hosts, json_schema_input_type=dict[str, list[str] | int | SiteText]),
]


class Tcp(Model):
    """TCP of every host; what is not given is the kernel's default, set explicitly."""

    congestion_control: Congestion | None = Field(
        None, description="reno, cubic, bbr: what the kernel offers. Default: the kernel's."
    )
    buffer_bytes: Size | None = Field(
        None, alias="buffer", description="Send and receive buffer of a socket, fixed."
    )
