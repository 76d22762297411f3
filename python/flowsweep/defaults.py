"""Defaults for reading captures; the parser has the same."""

#: Length of a bin of the table `throughput`, ns.
BIN_NS = 10_000_000
#: Silence after which a flow of UDP is over, ns.
UDP_TIMEOUT_NS = 60_000_000_000
#: How long before a packet that stands behind it in the file another is put in front of it, ns.
ORDER_WINDOW_NS = 1_000_000_000
#: Packets that may wait for such an earlier one.
ORDER_WINDOW_PACKETS = 65_536
