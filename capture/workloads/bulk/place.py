"""What is transferred: a buffer, or a file on disk."""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHUNK = 1 << 18


class Place:
    """What is transferred: a buffer, or a file on disk."""

    def __init__(
        self, size: int, kind: str, folder: Path, content: Iterator[bytes] | None = None
    ) -> None:
        """`content`: in pieces; without, there is room for it."""
        self.bytes = size
        self.memory: bytearray | None = None
        self.file: io.FileIO | None = None
        if kind == "memory":
            self.memory = bytearray(size) if content is None else bytearray().join(content)
            return
        self.file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - see close
        if content is None:
            os.posix_fallocate(self.file.fileno(), 0, size)
            return
        for piece in content:
            self.file.write(piece)
        os.fsync(self.file.fileno())
        # From disk, not from the memory of the kernel.
        os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def for_kernel(self) -> tuple[Any, int]:
        """Pointer and file descriptor; the kernel closes the file that it is given."""
        if self.memory is not None:
            return (ctypes.c_char * self.bytes).from_buffer(self.memory), -1
        return None, os.dup(self._descriptor())

    def read(self, at: int, size: int) -> memoryview | bytes:
        """A part of it."""
        size = min(size, self.bytes - at)
        if self.memory is not None:
            return memoryview(self.memory)[at : at + size]
        return os.pread(self._descriptor(), size, at)

    def write(self, at: int, data: memoryview) -> None:
        """Puts a part to its place."""
        if self.memory is not None:
            self.memory[at : at + len(data)] = data
        else:
            os.pwrite(self._descriptor(), data, at)

    def _descriptor(self) -> int:
        assert self.file is not None, "a place is memory or a file"  # noqa: S101 - for the types
        return self.file.fileno()

    def finish(self) -> None:
        """What was written is on the disk."""
        if self.file is not None:
            os.fsync(self.file.fileno())

    def digest(self) -> str:
        """BLAKE2b of the content, in hexadecimal."""
        found = hashlib.blake2b(digest_size=16)
        for at in range(0, self.bytes, CHUNK):
            found.update(self.read(at, CHUNK))
        return found.hexdigest()

    def close(self) -> None:
        """Gives the disk back."""
        if self.file is not None:
            self.file.close()
