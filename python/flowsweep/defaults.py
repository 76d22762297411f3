"""Defaults for reading captures; the parser has the same."""

#: Length of a bin of the table `throughput`, ns.
BIN_NS = 10_000_000
#: Silence after which a flow of UDP is over, ns.
UDP_TIMEOUT_NS = 60_000_000_000
#: How far packets out of order are put back, ns.
ORDER_WINDOW_NS = 1_000_000_000
#: Packets that are held back for that at most.
ORDER_WINDOW_PACKETS = 65_536
#: How long a packet waits to be found at the other end of its path, ns.
MATCH_WINDOW_NS = 2_000_000_000
#: Packets that wait at most.
MATCH_WINDOW_PACKETS = 1 << 20
