"""The file that an export writes."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from flowsweep.files import outputs

#: What text is written to.
Stream = IO[bytes] | gzip.GzipFile


@contextmanager
def writing(path: Path) -> Iterator[Stream]:
    """A file that becomes `path` as a whole or not at all, packed if its name ends with .gz.

    Args:
        path: What is there is replaced.

    Raises:
        FlowsweepError: The system refuses.
    """
    with outputs.explaining(f"cannot write {path}"), outputs.replacing(path) as stream:
        if path.suffix != ".gz":
            yield stream
            return
        # Neither time nor name of the file: the same text gives the same bytes.
        with gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
            yield packed
