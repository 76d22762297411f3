"""Addresses that can be a host's: one rule for `flowsweep show` and for the SQL of the report."""

from __future__ import annotations

#: A regular expression: multicast (RFC 5771, RFC 4291), limited broadcast (RFC 919), unspecified.
NO_HOST = r"^(2(2[4-9]|3[0-9])\.|255\.255\.255\.255$|0\.0\.0\.0$|::$|[fF][fF][0-9a-fA-F]{2}:)"
#: The end of an address that nobody sends from, and that may be the broadcast of a network.
BROADCAST = ".255"
#: For DuckDB; `has_sent`: whether a packet came from it.
MACRO = f"""\
-- Whether a host may have this address. Nothing is sent from that of a broadcast.
create or replace temp macro is_host_address(address, has_sent) as
not regexp_matches(address, '{NO_HOST}') and (has_sent or not ends_with(address, '{BROADCAST}'));
"""
