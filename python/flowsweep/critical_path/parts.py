"""Divides the time of a message on the critical path: propagation, queueing and so on."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Part(StrEnum):
    """The parts into which the time on a critical path is divided."""

    COMPUTING = "computing"
    STALL = "sender stall"
    SERIALISATION = "serialisation"
    QUEUEING = "queueing"
    RECOVERY = "loss recovery"
    PROPAGATION = "propagation"
    UNKNOWN = "not explained"


class Journey(NamedTuple):
    """How a message's bytes travelled, up to one of its packets; in ns, on the reference's clock.

    Attributes:
        sender: Host that sent it.
        receiver: Host that received it.
        at: Host that could continue when the packet had arrived.
        began: When the first packet of the message left.
        first_sent: When the packet's bytes left for the first time.
        sent: When the packet that arrived left.
        arrival: When it arrived.
        base_ns: Least delay of the direction, or of both if the host waits for an answer.
        ip_bytes: Bytes of the message's IP packets up to the first transmission of this one.
        queued_ns: How long any of these was in the link's queue or in serialisation.
    """

    sender: str
    receiver: str
    at: str
    began: int
    first_sent: int
    sent: int
    arrival: int
    base_ns: int
    ip_bytes: int
    queued_ns: int


#: Bytes that a frame adds to its IP packet, and bytes of a full packet.
_ETHERNET = 14
_FULL_PACKET = 1_500


def divide(journey: Journey, rate_bit_s: float | None) -> list[tuple[Part, int]]:
    """Returns the parts of a journey, each with a duration above 0; they add up to the whole.

    Propagation is the least delay of the direction. Loss recovery is the time from the first
    transmission of the packet's bytes to the one that arrived. Serialisation is what the bytes take
    at the link's rate, at most the time that they spent in its queue or in serialisation. Queueing
    is the rest of that time: others' bytes left first. In the remaining time, no byte was on its
    way: the sender stalled, for a window, for its pace, or for data of the application.

    Args:
        journey: How the bytes travelled.
        rate_bit_s: Rate of the link; None if unknown, then queueing includes serialisation.
    """
    left = journey.arrival - journey.began
    found: dict[Part, int] = {}

    def take(part: Part, duration: int) -> None:
        nonlocal left
        found[part] = max(0, min(left, duration))
        left -= found[part]

    take(Part.PROPAGATION, journey.base_ns)
    take(Part.RECOVERY, journey.sent - journey.first_sent)
    queued = journey.queued_ns
    if journey.sent > journey.first_sent:
        queued += journey.arrival - journey.sent - journey.base_ns
    frames = -(-journey.ip_bytes // _FULL_PACKET)
    frame_bytes = journey.ip_bytes + frames * _ETHERNET
    on_link = round(frame_bytes * 8e9 / rate_bit_s) if rate_bit_s else 0
    take(Part.SERIALISATION, min(queued, on_link))
    take(Part.QUEUEING, queued - found[Part.SERIALISATION])
    take(Part.STALL, left)
    order = (Part.STALL, Part.SERIALISATION, Part.QUEUEING, Part.RECOVERY, Part.PROPAGATION)
    return [(part, found[part]) for part in order if found[part]]
