"""Reads the TCP connections of a host from the kernel, with their actual buffer sizes."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsweep.testbed import kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flowsweep.testbed.spec import HostSpec

# linux/sock_diag.h, linux/inet_diag.h
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST, NLM_F_DUMP, NLMSG_DONE, NLMSG_ERROR = 1, 0x300, 3, 2
INET_DIAG_CONG, INET_DIAG_SKMEMINFO = 4, 7
TCP_ESTABLISHED = 1
MESSAGE_BYTES = 72  # struct inet_diag_msg


@dataclass(frozen=True)
class Connection:
    """One side of an established connection; buffers in bytes, as the kernel counts them."""

    local: tuple[str, int]
    remote: tuple[str, int]
    receive_buffer: int
    send_buffer: int
    congestion_control: str


def connections(host: HostSpec) -> list[Connection]:
    """Returns the established TCP connections of a host on the experiment network."""
    with (
        kernel.network_namespace(host.namespace),
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as diag,
    ):
        extensions = 1 << (INET_DIAG_CONG - 1) | 1 << (INET_DIAG_SKMEMINFO - 1)
        body = struct.pack(
            "=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, extensions, 1 << TCP_ESTABLISHED
        )
        header = struct.pack(
            "=IHHII", 16 + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0
        )
        diag.send(header + body)
        found = list(_messages(diag))
    own = host.address  # ranks of one host communicate over loopback, which is not emulated
    return [item for item in found if item.local[0] == own != item.remote[0]]


def _messages(diag: socket.socket) -> Iterator[Connection]:
    while True:
        data = diag.recv(65536)
        while len(data) >= 16:
            size, kind = struct.unpack_from("=IH", data)
            if kind in (NLMSG_DONE, NLMSG_ERROR):
                return
            yield _connection(data[16:size])
            data = data[(size + 3) & ~3 :]


def _connection(message: bytes) -> Connection:
    # family, state, timer, retransmissions; then ports and addresses in network order.
    local_port, remote_port = struct.unpack_from("!HH", message, 4)
    local, remote = (socket.inet_ntoa(message[start : start + 4]) for start in (8, 24))
    receive = send = 0
    control = ""
    data = message[MESSAGE_BYTES:]
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        if kind == INET_DIAG_SKMEMINFO:
            _, receive, _, send = struct.unpack_from("=IIII", data, 4)
        elif kind == INET_DIAG_CONG:
            control = data[4:size].rstrip(b"\0").decode()
        data = data[max(4, (size + 3) & ~3) :]
    return Connection((local, local_port), (remote, remote_port), receive, send, control)
