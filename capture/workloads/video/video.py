"""Turns film frames into an ordered stream of JPEG images, across two sites (Maassen, 3.2).

Readers take frames from disk at the frame rate, filters correct their colour, compressors make
JPEG images, the last rank counts them. The order of ranks is readers, filters, compressors,
counter; so the readers are alone at the first site if it has as many hosts.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import channels
import common

APP = "video"
SIZES = {"4K": (3840, 2160), "2K": (1920, 1080), "1K": (960, 540)}
PIXEL_BYTES = 6
KEPT = 4  # generated frames of a reader, used in turn
FRAME, END, RESULT = range(1, 4)


class Kernel:
    """The compiled stages, for frames of one size."""

    def __init__(self, width: int, height: int, quality: int) -> None:
        library = common.kernels()
        self._size = (width, height)
        self._quality = quality
        self.bytes = width * height * PIXEL_BYTES
        self._room = ctypes.create_string_buffer(self.bytes + 4096)
        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        self._paint = library.flowsweep_video_paint
        self._paint.argtypes, self._paint.restype = (size, size, size, pointer), None
        self._correct = library.flowsweep_video_correct
        self._correct.argtypes, self._correct.restype = (pointer, size), None
        self._compress = library.flowsweep_video_compress
        word = ctypes.c_uint16
        self._compress.argtypes = (pointer, word, word, ctypes.c_uint8, pointer, size)
        self._compress.restype = size

    @staticmethod
    def _pointer(frame: bytearray) -> ctypes.Array[ctypes.c_char]:
        return (ctypes.c_char * len(frame)).from_buffer(frame)

    def paint(self, number: int) -> bytearray:
        """Generates the frame of a number."""
        frame = bytearray(self.bytes)
        self._paint(*self._size, number, self._pointer(frame))
        return frame

    def correct(self, frame: bytearray) -> None:
        """Adjusts the colours in place."""
        self._correct(self._pointer(frame), len(frame))

    def compress(self, frame: bytearray) -> bytes:
        """Returns the frame as JPEG."""
        size = self._compress(
            self._pointer(frame), *self._size, self._quality, self._room, len(self._room)
        )
        if not size:
            raise ValueError("a frame could not be compressed")
        return ctypes.string_at(self._room, size)


class Job:
    """The parameters, and the task of each rank."""

    def __init__(self, problem: dict[str, Any], compute: str) -> None:
        common.only(
            problem,
            *("format", "shrink", "frames", "fps", "readers", "filters", "quality"),
            *("filter_ns", "compress_ns", "folder", "spare"),
        )
        self.format = common.choice(problem, "format", ("4K", "2K", "1K"))
        shrink = common.whole_number(problem, "shrink", 8, 1, 64)
        self.frames = common.whole_number(problem, "frames", 60, 1, 10**6)
        self.fps = common.number(problem, "fps", 30, 0.01, 1000)
        readers = common.whole_number(problem, "readers", 1, 1, 10_000)
        filters = common.whole_number(problem, "filters", 1, 1, 10_000)
        quality = common.whole_number(problem, "quality", 90, 1, 100)
        filter_ns = common.number(problem, "filter_ns", 100, 0, 1e6)
        compress_ns = common.number(problem, "compress_ns", 200, 0, 1e6)
        #: None: the real time.
        self.filter_ns = None if compute == "busy" else filter_ns
        self.compress_ns = None if compute == "busy" else compress_ns
        folder = common.text(problem, "folder")
        self.folder = Path(folder) if folder else None
        width, height = (length // shrink for length in SIZES[self.format])
        self.pixels = width * height
        self.kernel = Kernel(width, height, quality)
        spare = common.whole_number(problem, "spare", 0, 0, 10_000)
        ranks = common.ranks_started() - spare
        if ranks < readers + filters + 2:
            expected = f"{readers} readers, {filters} filters, at least 1 compressor, the counter"
            raise common.BadProblemError("ranks", ranks, expected)
        if self.frames < ranks:
            raise common.BadProblemError("frames", self.frames, f"one for each of {ranks} ranks")
        self.readers = range(readers)
        self.filters = range(readers, readers + filters)
        self.compressors = range(readers + filters, ranks - 1)
        self.counter = ranks - 1

    def numbers(self, rank: int, among: range) -> list[int]:
        """Returns the frames that a rank handles."""
        return [number for number in range(self.frames) if self.handler(number, among) == rank]

    def handler(self, number: int, among: range) -> int:
        """Returns the rank that handles a frame; ranks take turns."""
        # Each round of the readers starts one filter later, so that all readers send to all
        # filters: parallel links that hash addresses and ports then have many flows.
        shift = number // len(self.readers) if among == self.filters else 0
        return among[(number + shift) % len(among)]


class Store:
    """The frames of a reader, on disk."""

    def __init__(self, job: Job, rank: int) -> None:
        self._job = job
        self._made = None if job.folder else tempfile.TemporaryDirectory(prefix="video-")
        self._folder = job.folder or Path(self._made.name if self._made else "")
        numbers = job.numbers(rank, job.readers)
        if self._made is not None:
            for number in numbers[:KEPT]:
                self._path(number).write_bytes(job.kernel.paint(number))
        for number in numbers:
            path = self._path(number)
            found = path.stat().st_size if path.is_file() else None
            if found != job.kernel.bytes:
                what = f"{path.name}: " + ("missing" if found is None else f"{found} bytes")
                expected = f"a frame of {job.kernel.bytes} bytes (rank {rank})"
                raise common.BadProblemError("folder", what, expected)

    def _path(self, number: int) -> Path:
        if self._made is not None:
            number %= KEPT * len(self._job.readers)
        return self._folder / f"frame-{number:05d}.rgb48"

    def read(self, number: int) -> bytearray:
        """Reads a frame from disk."""
        return bytearray(self._path(number).read_bytes())

    def close(self) -> None:
        """Removes generated frames."""
        if self._made is not None:
            self._made.cleanup()


def read(ranks: channels.Ranks, job: Job, store: Store) -> dict[str, int]:
    """Sends frames at the frame rate of all readers; returns digests of the first, for a check."""
    to = {rank: ranks.connect(rank) for rank in job.filters}
    ranks.start()
    worst = 0.0
    numbers = job.numbers(ranks.rank, job.readers)
    for number in numbers:
        frame = store.read(number)
        due = number / job.fps
        time.sleep(max(0.0, due - ranks.now()))
        worst = max(worst, ranks.now() - due)
        to[job.handler(number, job.filters)].send(FRAME, frame, number)
    ranks.phase("read", 0.0, ranks.now())
    ranks.notes["worst_late_s"] = worst
    digests = {}
    for number in numbers[:KEPT]:
        frame = store.read(number)
        job.kernel.correct(frame)
        digests[str(number)] = zlib.crc32(job.kernel.compress(frame))
    return digests


def stage(ranks: channels.Ranks, job: Job, own: range, before: range, after: range) -> None:
    """Runs a filter or a compressor, frame by frame from the previous stage to the next."""
    # Each stage connects to the next one; connections are accepted in any order.
    to = {rank: ranks.connect(rank) for rank in after}
    made = [ranks.accept() for _ in before]
    source = {channel.peer: channel for channel in made}
    is_filter = own == job.filters
    pace = common.Pace(job.filter_ns if is_filter else job.compress_ns)
    ranks.start()
    first: float | None = None
    for number in job.numbers(ranks.rank, own):
        message = source[job.handler(number, before)].expect(FRAME)
        if message.number != number:
            raise ValueError(f"frame {message.number}, expected {number}")
        first = message.begin_s if first is None else first
        if is_filter:
            span = (message.begin_s, message.end_s)
            peer = job.handler(number, before)
            ranks.transfer("frame", peer, ranks.rank, len(message.data), span)
        begin = time.monotonic_ns()
        if is_filter:
            job.kernel.correct(message.data)
            out: bytes | bytearray = message.data
        else:
            out = job.kernel.compress(message.data)
        pace.work(begin, job.pixels)
        to[job.handler(number, after)].send(FRAME, out, number)
    ranks.phase("filter" if is_filter else "compress", first or 0.0, ranks.now())
    ranks.notes["computing_s"] = pace.computing_ns / 1e9


def count(ranks: channels.Ranks, job: Job) -> dict[str, Any]:
    """Receives the images in the order of frames; returns their number, times and digests."""
    made = [ranks.accept() for _ in job.compressors]
    source = {channel.peer: channel for channel in made}
    ranks.start()
    arrivals, digests, order = [], {}, True
    for number in range(job.frames):
        message = source[job.handler(number, job.compressors)].expect(FRAME)
        order &= message.number == number
        arrivals.append(message.end_s)
        digests[str(number)] = zlib.crc32(message.data)
    ranks.phase("count", arrivals[0], arrivals[-1])
    span = arrivals[-1] - arrivals[0]
    return {
        "end_s": arrivals[-1],
        "frames": len(arrivals),
        "in_order": order,
        "fps": (len(arrivals) - 1) / span if span else None,
        "digests": digests,
    }


def judge(counted: dict[str, Any], expected: dict[str, int], start: int) -> dict[str, Any]:
    """Returns rank 0's result: whether all frames came in order and the checked ones are right."""
    wrong = sum(counted["digests"][number] != digest for number, digest in expected.items())
    end = counted["end_s"]
    answer = {name: counted[name] for name in ("frames", "in_order", "fps")}
    return {
        "start": common.utc(start),
        "end": common.utc(start + round(end * 1e9)),
        "completion_s": end,
        "answer": {**answer, "checked": len(expected), "wrong": wrong},
        "correct": counted["in_order"] and not wrong,
    }


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's stage."""
    job = Job(problem, compute)
    rank = channels.own_rank()
    store = Store(job, rank) if rank in job.readers else None
    ranks = channels.Ranks(APP, problem, compute)
    result: dict[str, Any] = {}
    if store is not None:
        own = read(ranks, job, store)
        store.close()
        if rank:
            ranks.control[0].send(RESULT, json.dumps(own).encode())
        else:
            for other in job.readers[1:]:
                own |= json.loads(bytes(ranks.control[other].expect(RESULT).data))
            counted = json.loads(bytes(ranks.control[job.counter].expect(RESULT).data))
            result = judge(counted, own, ranks.started_ns)
    elif rank in job.filters:
        stage(ranks, job, job.filters, job.readers, job.compressors)
    elif rank in job.compressors:
        stage(ranks, job, job.compressors, job.filters, range(job.counter, job.counter + 1))
    elif rank > job.counter:
        ranks.start()
    else:
        ranks.control[0].send(RESULT, json.dumps(count(ranks, job)).encode())
    ranks.finish(output, result)


if __name__ == "__main__":
    common.run(APP, main)
