"""The octets of a log in blocks of whole lines, however it is compressed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flowsweep import _parsers
from flowsweep.errors import FlowsweepError
from flowsweep.parsing import named, readable_errors

BLOCK = 4 << 20
#: What has longer lines is no log.
LONGEST_LINE = 64 << 20


def blocks(path: Path, least: int = BLOCK) -> Iterator[bytes]:
    """Blocks of whole lines, of `least` octets or more; the last line may lack its end.

    Raises:
        FlowsweepError: The file cannot be read, is damaged (told when all before was given, with
            exit code 1), or is no text in lines.
    """
    ((_, name),) = named([path])
    with readable_errors():
        unpacked = _parsers.Unpacked(path, name)
    held: list[bytes] = []
    size = 0
    while part := unpacked.part():
        held.append(part)
        size += len(part)
        if size < least:
            continue
        joined = b"".join(held)
        end = joined.rfind(b"\n") + 1
        if end:
            yield joined[:end]
        elif size > LONGEST_LINE:
            raise FlowsweepError(
                f"{name}: not a log",
                found=f"a line of more than {LONGEST_LINE >> 20} MiB",
                expected="lines, as Zeek writes them",
            )
        held = [joined[end:]]
        size -= end
    if size:
        yield b"".join(held)
    if fault := unpacked.fault():
        raise FlowsweepError(
            f"{name}: damaged",
            found=fault,
            expected="a complete file",
            remedy="copy it again; what came before is kept",
            exit_code=1,
        )
