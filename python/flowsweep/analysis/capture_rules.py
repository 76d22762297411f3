"""The counts of packets that lower the grade of a capture, and the claims that they forbid."""

from __future__ import annotations

from dataclasses import dataclass

from flowsweep.analysis.claims import CONTENT, GAPS

#: The share of packets out of order above which gaps are no longer those of the network.
OUT_OF_ORDER = 1e-3


@dataclass(frozen=True)
class Rule:
    """A count of packets that lowers the grade.

    Attributes:
        key: The column of `capture_facts` that counts the packets; shares are of all `packets`.
        text: Follows "17 packets".
        b, c, d: The share of the packets above which the grade is at best B, C or D. None: never.
        spoils: The claim that is forbidden if this rule leads to grade C.
        judged_by: The column whose share is compared, if it is not `key`.
        noun: What is counted.
    """

    key: str
    text: str
    b: float = 0.0
    c: float | None = None
    d: float | None = None
    spoils: str | None = None
    judged_by: str | None = None
    noun: str = "packet"

    def grade(self, share: float) -> str:
        """Returns the grade of a capture in which the packets have this share."""
        limits = (("D", self.d), ("C", self.c), ("B", self.b))
        return next((name for name, limit in limits if limit is not None and share > limit), "A")


RULES = (
    Rule("dropped_packets", "dropped by kernel or interface", c=1e-4, d=0.01, spoils=GAPS),
    Rule(
        "super_packets",
        "longer than a network carries: offloading merged packets, so that gaps are between merged"
        " packets, and rates over less time than one of them takes are unknown",
        c=0.05, spoils=GAPS,
    ),
    Rule(
        "duplicate_packets",
        "recorded twice, as on a bridge and its port: copies count in no rate, total,"
        " retransmission or RTT",
    ),
    Rule(
        "distant_duplicate_packets",
        "recorded again more than 1 ms later, as where captures of both ends were put together:"
        " connections seen first at two places have no RTT, and what limited them is unknown; parse"
        " each capture alone",
    ),
    Rule("reordered_packets", "out of time order in the file, put back in order"),
    Rule(
        "times_out_of_range",
        "with an impossible time: each counts at the time of the packet before it, so peaks"
        " and gaps are unknown",
        c=OUT_OF_ORDER, d=0.01, spoils=GAPS,
    ),
    Rule(
        "untimed_packets",
        "with no recorded time (Simple Packet Blocks): each counts at the time of the packet"
        " before it, so peaks and gaps are unknown",
        c=0.0, d=0.01, spoils=GAPS,
    ),
    Rule(
        "length_conflict_packets",
        "whose lengths contradict each other: payload is that of the IP header, and rates are too"
        " low if frames were cut before they were recorded",
        c=0.01,
    ),
    Rule("tunnelled_packets", "in tunnels: their flows are those inside", b=0.05),
    Rule(
        "not_ip_packets",
        "in which no IP can be read, such as ARP or encrypted frames: in no flow",
        b=0.05,
    ),
    *(
        # Packets that belong to no flow but should: all kinds are judged together.
        Rule(key, text, d=0.01, judged_by="undecoded_packets")
        for key, text in (
            ("unknown_link_packets", "of an unknown link type"),
            ("cut_packets", "cut inside a header"),
            ("malformed_packets", "with a header that contradicts itself, or too many headers"),
            ("bad_checksum_packets", "with a wrong checksum: in no flow"),
            ("other_undecoded_packets", "not decoded: in no flow"),
        )
    ),
    Rule(
        "unverified_packets", "with a checksum that cannot be verified, as in cut packets"
    ),
    Rule(
        "unread_tcp_packets", "of TCP cut after the ports: their payload is unknown",
        c=0.05, spoils=CONTENT,
    ),
    Rule(
        "unread_subframes",
        "behind another one in a frame of IEEE 802.11 (A-MSDU): in no flow",
        c=0.0, d=0.01, spoils=CONTENT,
    ),
    Rule("fragments", "of IP; those behind the first have no ports", noun="fragment"),
)  # fmt: skip

#: Segments that a receiver would not accept: they change no state of their connection.
REFUSED = (
    ("outside_window_packets", "outside the window"),
    ("stray_syn_packets", "SYN with another number in a live connection"),
    ("stray_syn_ack_packets", "SYN-ACK with another number in a live connection"),
    ("stray_rst_packets", "RST outside the window"),
)

#: Kinds of odd connections: the noun that follows their number, and what is odd.
ODD_CONNECTIONS = {
    "one_way_connections": ("TCP connection", (
        "with packets of one direction alone: what came back and round-trip times are unknown"
    )),
    "translated_connections": ("connection", (
        "with the packets, bytes and times of another one, and another address at one end:"
        " captured on both sides of an address translation (NAT)? Rates and totals then count it"
        " twice"
    )),
    "alike_connections": ("TCP connection", (
        "with the same packets, bytes and duration as the one before on the same ports, less than"
        " a second later: may have been recorded twice"
    )),
    "simultaneous_connections": ("TCP connection", (
        "on the ports of another one at the same time: does a firewall between two places that"
        " were captured rewrite sequence numbers?"
    )),
}  # fmt: skip
