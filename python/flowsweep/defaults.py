"""Defaults for reading captures; the parser has the same."""

#: Length of a bin of the table `throughput`, ns.
BIN_NS = 10_000_000
#: Silence after which a flow of UDP is over, ns.
UDP_TIMEOUT_NS = 60_000_000_000
