"""Draws charts in a separate process, while the queries of the next figures run.

The renderer holds Python's global lock while it draws, so a thread would gain nothing. The process
lives until its standard input closes, which happens however its parent ends. A request is the JSON
of a chart and its answer an SVG, each after its length; an answer of length 0 is followed by the
reason.
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
#: Drawn at the start: loading Vega takes longer than drawing most figures.
_NOTHING = {"data": {"values": []}, "mark": "point"}


def draw(specification: str) -> str:
    """Returns the SVG of a chart, drawn in this process.

    Raises:
        ValueError: The chart is not valid Vega-Lite.
    """
    import vl_convert

    picture: str = vl_convert.vegalite_to_svg(specification, vl_version=VEGA_LITE)
    return picture


class Drawer:
    """The process that draws; it starts at once."""

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
        """Draws a chart after the ones submitted before it.

        Raises:
            FlowsweepError: From the result: it cannot be drawn, or the process has ended.
        """
        return self._queue.submit(self._ask, specification)

    def close(self) -> None:
        """Ends the process and drops the charts that are not drawn yet."""
        if self.owner == os.getpid():
            self._queue.shutdown(wait=False, cancel_futures=True)
            self._process.kill()
            self._process.wait()

    @property
    def has_ended(self) -> bool:
        """Whether the process no longer draws for this one."""
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
    """Returns the process that draws for this one, starting it if none runs."""
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
    """Draws what is requested, until standard input closes."""
    # A terminal sends these to all processes; the parent ends this one.
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
        os._exit(0)  # the stream cannot be flushed again


if __name__ == "__main__":
    main()
