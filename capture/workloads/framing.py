"""Computes the bytes that Open MPI's TCP transport (BTL tcp, PML ob1) adds to messages."""

from __future__ import annotations

# Every message up to the eager limit is one fragment with two headers.
FRAGMENT_HEADER_BYTES = 8
MATCH_HEADER_BYTES = 14
MESSAGE_OVERHEAD_BYTES = FRAGMENT_HEADER_BYTES + MATCH_HEADER_BYTES
# Each side of a new connection first sends its rank.
HANDSHAKE_BYTES = 24
# The side that closes a connection announces that (Open MPI 5); the other side then does not.
GOODBYE_BYTES = 8
# A message with at most this payload is sent eagerly: one fragment, without an answer.
EAGER_PAYLOAD_BYTES = 65_536 - MATCH_HEADER_BYTES


def wire_payload_bytes(messages: int, message_bytes: int, connections: int = 1) -> range:
    """Returns every possible TCP payload from one rank to another, as a capture sees it.

    Args:
        messages: Messages sent, each at most EAGER_PAYLOAD_BYTES.
        message_bytes: The sum of their sizes, as in app.json.
        connections: Connections between the two ranks; ranks on different hosts have one.
    """
    least = message_bytes + MESSAGE_OVERHEAD_BYTES * messages + HANDSHAKE_BYTES * connections
    return range(least, least + GOODBYE_BYTES * connections + 1, GOODBYE_BYTES)
