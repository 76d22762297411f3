"""The content of a transfer: a buffer, or files on disk."""

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
    """The content of a transfer: a buffer, or files on disk, one after the other."""

    def __init__(
        self,
        size: int,
        kind: str,
        folder: Path,
        content: Iterator[bytes] | None = None,
        files: int = 1,
    ) -> None:
        """`content`: in pieces; None reserves space for it. `files` divides `size`."""
        self.bytes = size
        self.pieces = files
        self.each = size // files
        self.memory: bytearray | None = None
        self.files: list[io.FileIO] = []
        if kind == "memory":
            self.memory = bytearray(size) if content is None else bytearray().join(content)
            return
        self.files = [
            tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - see close
            for _ in range(files)
        ]
        for file in self.files:
            os.posix_fallocate(file.fileno(), 0, self.each)
        at = 0
        for piece in content or ():
            self.write(at, memoryview(piece))
            at += len(piece)
        for file in self.files:
            os.fsync(file.fileno())
            # Reads must come from disk, not from the page cache.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def for_kernel(self) -> tuple[Any, Any, int]:
        """Returns pointer, file descriptors, number of pieces; the kernel closes these files."""
        if self.memory is not None:
            return (ctypes.c_char * self.bytes).from_buffer(self.memory), None, self.pieces
        descriptors = [os.dup(file.fileno()) for file in self.files]
        return None, (ctypes.c_int * self.pieces)(*descriptors), self.pieces

    def _parts(self, at: int, size: int) -> Iterator[tuple[int, int, int]]:
        """Yields descriptor, offset and length of each file part of bytes `at..at + size`."""
        end = at + size
        while at < end:
            number, place = divmod(at, self.each)
            part = min(self.each - place, end - at)
            yield self.files[number].fileno(), place, part
            at += part

    def read(self, at: int, size: int) -> memoryview | bytes:
        """Reads a part of the content."""
        size = min(size, self.bytes - at)
        if self.memory is not None:
            return memoryview(self.memory)[at : at + size]
        return b"".join(os.pread(file, part, place) for file, place, part in self._parts(at, size))

    def write(self, at: int, data: memoryview) -> None:
        """Writes a part of the content."""
        if self.memory is not None:
            self.memory[at : at + len(data)] = data
            return
        for file, place, part in self._parts(at, len(data)):
            os.pwrite(file, data[:part], place)
            data = data[part:]

    def finish(self, number: int) -> None:
        """Syncs a file to disk, if the content is in files."""
        if self.files:
            os.fsync(self.files[number].fileno())

    def digest(self) -> str:
        """Returns BLAKE2b of the content, in hexadecimal."""
        found = hashlib.blake2b(digest_size=16)
        for at in range(0, self.bytes, CHUNK):
            found.update(self.read(at, CHUNK))
        return found.hexdigest()

    def close(self) -> None:
        """Closes the temporary files, which frees their space."""
        for file in self.files:
            file.close()
