"""Sends the hexadecimal frames of standard input on exp0, or prints incoming ones.

A VLAN tag that the kernel removed is put back.

send | receive

`receive` ends after a silence once standard input has ended, so the sender may begin late.
"""

import select
import socket
import struct
import sys

SOL_PACKET = 263
SO_RCVBUFFORCE = 33
PACKET_AUXDATA = 8
PACKET_IGNORE_OUTGOING = 23
ETH_P_ALL = 3
VLAN_VALID = 1 << 4
SILENCE_S = 0.5

link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
if sys.argv[1] == "send":
    link.bind(("exp0", 0))
    for line in sys.stdin:
        link.send(bytes.fromhex(line))
    sys.exit()
link.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
try:
    link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
except PermissionError:
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
link.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
link.bind(("exp0", ETH_P_ALL))
print("ready", flush=True)
watched: list[object] = [link, sys.stdin]
while ready := select.select(watched, [], [], SILENCE_S if len(watched) == 1 else None)[0]:
    if link not in ready:
        watched.remove(sys.stdin)
        continue
    frame, [(_, _, auxiliary)], _, _ = link.recvmsg(65_536, 256)
    status, _, _, _, _, tag, kind = struct.unpack("IIIHHHH", auxiliary)
    if status & VLAN_VALID:
        frame = frame[:12] + struct.pack("!HH", kind, tag) + frame[12:]
    print(frame.hex())
