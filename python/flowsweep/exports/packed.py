"""Opens the output file of an export."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from flowsweep.files import outputs

#: The stream to which an export writes.
Stream = IO[bytes] | gzip.GzipFile


@contextmanager
def writing(path: Path) -> Iterator[Stream]:
    """Yields a file that becomes `path` whole or not at all, compressed if its name ends in .gz.

    Args:
        path: The file; an existing one is replaced.

    Raises:
        FlowsweepError: The operating system refuses.
    """
    with outputs.explaining(f"cannot write {path}"), outputs.replacing(path) as stream:
        if path.suffix != ".gz":
            yield stream
            return
        # No time or file name in the header, so that the same text gives the same bytes.
        with gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
            yield packed
