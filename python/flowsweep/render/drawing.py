"""Draws charts in a process of their own, while the queries of the next figures run.

The renderer holds Python's lock while it draws, so that a thread would gain nothing. The process
lives until its standard input ends, which it does with the process that started it, however that
ends. A request is the JSON of a chart and its answer an SVG, each behind its length; an answer of
length 0 is followed by the reason why there is none.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, cast

from flowsweep import signals
from flowsweep.errors import FlowsweepError

VEGA_LITE = "6.4"
_LENGTH = struct.Struct("<Q")
#: Drawn at the start: to load Vega takes longer than to draw most figures.
_NOTHING = {"data": {"values": []}, "mark": "point"}


def draw(specification: str) -> str:
    """The SVG of a chart, drawn in this process.

    Raises:
        ValueError: It is no chart of Vega-Lite.
    """
    import vl_convert

    picture: str = vl_convert.vegalite_to_svg(specification, vl_version=VEGA_LITE)
    return picture


class Drawer:
    """The process that draws; it begins at once."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._requests = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)
        self._queue = ThreadPoolExecutor(1, "drawer")
        signals.at_end(self.close)

    def submit(self, specification: str) -> Future[str]:
        """Draws a chart when those before it are drawn.

        Raises:
            FlowsweepError: By the result: it cannot be drawn, or the process has ended.
        """
        return self._queue.submit(self._ask, specification)

    def close(self) -> None:
        """Ends the process; what was not drawn yet is not drawn."""
        if self.owner == os.getpid():
            self._queue.shutdown(wait=False, cancel_futures=True)
            self._process.kill()
            self._process.wait()

    @property
    def has_ended(self) -> bool:
        """Whether it draws no more."""
        return self.owner != os.getpid() or self._process.poll() is not None

    def _ask(self, specification: str) -> str:
        try:
            _write(self._requests, specification)
            picture = _read(self._answers)
            reason = None if picture else _read(self._answers)
        except (OSError, EOFError):
            status = self._process.wait()
            raise FlowsweepError(
                "no figure can be drawn: the renderer's process has ended",
                found=f"signal {signal.Signals(-status).name}" if status < 0 else f"code {status}",
                expected="that it runs as long as the report is made",
                remedy="give it more memory, or see what ends processes here",
            ) from None
        if reason is not None:
            raise ValueError(reason)
        return picture


_drawer: Drawer | None = None


def ensure_drawer() -> Drawer:
    """Starts the process that draws for this one, unless it runs, and returns it."""
    global _drawer  # noqa: PLW0603 - a process has one
    if _drawer is None or _drawer.has_ended:
        _drawer = Drawer()
    return _drawer


def _write(stream: BinaryIO, text: str) -> None:
    content = text.encode()
    stream.write(_LENGTH.pack(len(content)) + content)
    stream.flush()


def _read(stream: BinaryIO) -> str:
    (length,) = _LENGTH.unpack(_read_bytes(stream, _LENGTH.size))
    return _read_bytes(stream, length).decode()


def _read_bytes(stream: BinaryIO, count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content


def main() -> None:
    """Draws what is requested, until nothing can be requested any more."""
    # A terminal sends these to all processes; the one that started this ends it.
    for number in signals.STOPPING:
        signal.signal(number, signal.SIG_IGN)
    draw(json.dumps(_NOTHING))
    try:
        while True:
            request = _read(sys.stdin.buffer)
            try:
                _write(sys.stdout.buffer, draw(request))
            except ValueError as error:
                _write(sys.stdout.buffer, "")
                _write(sys.stdout.buffer, str(error))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # the stream cannot be flushed once more


if __name__ == "__main__":
    main()
