"""How captures are read unless something else is asked for; the parsers have the same defaults."""

#: Length of a bin of the table `throughput`, ns.
BIN_NS = 10_000_000
#: Silence after which a flow of UDP is over, ns.
UDP_TIMEOUT_NS = 60_000_000_000
