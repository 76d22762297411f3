"""Defaults for reading captures; the parser uses the same values."""

#: Length of a bin of the table `throughput`, ns.
BIN_NS = 10_000_000
#: Silence after which a UDP flow ends, ns.
UDP_TIMEOUT_NS = 60_000_000_000
#: Span of time in which out-of-order packets are sorted, ns.
ORDER_WINDOW_NS = 1_000_000_000
#: Maximum number of packets held back for sorting.
ORDER_WINDOW_PACKETS = 65_536
#: How long a packet waits for its match at the other end of its path, ns.
MATCH_WINDOW_NS = 2_000_000_000
#: Maximum number of packets that wait for a match.
MATCH_WINDOW_PACKETS = 1 << 20
#: Shorter flows have no rate, ns: packets of 64 kB, which an interface merged, may follow each
#: other faster than on any wire.
SHORTEST_RATE_NS = 1_000_000
