"""Makes the few kernel calls that Python does not offer: namespaces, mounts, ethtool.

No other module of the package calls the C library by ctypes.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWUTS = 0x04000000
CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SIOCETHTOOL = 0x8946
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
# ethtool commands that switch one offload each (linux/ethtool.h).
ETHTOOL_SRXCSUM, ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO = (
    0x15,
    0x17,
    0x1F,
    0x24,
    0x2C,
)
# Segmentation goes first: the kernel refuses to drop checksums that it depends on.
OFFLOADS = (ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM, ETHTOOL_SRXCSUM)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
)


def _checked(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def mount(source: str, target: Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mounts one file system; an empty `kind` with MS_BIND binds `source` onto `target`."""
    result = _libc.mount(
        source.encode(), str(target).encode(), kind.encode(), flags, options.encode()
    )
    _checked(result, f"mount {source} on {target}")


def create_network_namespace(target: Path) -> None:
    """Makes a network namespace that exists as long as the mount `target`, like `ip netns add`."""
    target.touch()
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _checked(_libc.unshare(CLONE_NEWNET), "a new network namespace")
        mount("/proc/thread-self/ns/net", target, flags=MS_BIND)
    finally:
        _checked(_libc.setns(home, CLONE_NEWNET), "back to the own network namespace")
        os.close(home)


def create_host_name(target: Path, name: str) -> None:
    """Makes a UTS namespace with a host name that exists as long as the mount `target`."""
    target.touch()
    home = os.open("/proc/thread-self/ns/uts", os.O_RDONLY)
    try:
        _checked(_libc.unshare(CLONE_NEWUTS), "a new UTS namespace")
        socket.sethostname(name)
        mount("/proc/thread-self/ns/uts", target, flags=MS_BIND)
    finally:
        _checked(_libc.setns(home, CLONE_NEWUTS), "back to the own UTS namespace")
        os.close(home)


@contextlib.contextmanager
def network_namespace(path: Path) -> Iterator[None]:
    """Puts sockets and processes that are made in the `with` block into this network namespace."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    target = os.open(path, os.O_RDONLY)
    try:
        _checked(_libc.setns(target, CLONE_NEWNET), f"enter {path}")
        yield
    finally:
        _checked(_libc.setns(home, CLONE_NEWNET), "back to the own network namespace")
        os.close(target)
        os.close(home)


def disable_offloads(interface: str) -> None:
    """Makes frames leave `interface` as on a wire: at most MTU-sized, with their checksums.

    With checksum offload, a veth never computes the checksum, and the emulator would
    forward packets with wrong checksums.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
            try:
                # ifreq is 40 bytes; the rest of the union is not used.
                fcntl.ioctl(control, SIOCETHTOOL, request.ljust(40, b"\0"))
            except OSError as error:
                error.strerror = f"offload {command:#x} of {interface}: {error.strerror}"
                raise


def free_middle(descriptor: int, begin: int, end: int) -> None:
    """Frees the space between the first `begin` and the last `end` bytes of a file.

    The file keeps its size. A file system without support for holes keeps all data.
    """
    length = os.fstat(descriptor).st_size - begin - end
    if length > 0:
        flags = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
        _libc.fallocate(descriptor, flags, ctypes.c_int64(begin), ctypes.c_int64(length))


def die_with_parent() -> None:
    """Makes the kernel kill this process when the thread that started it ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Makes this process the parent of orphaned descendants, so that it can wait for them."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
