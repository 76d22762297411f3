"""Finds objects that appear between two images of the sky (Maassen, 3.3).

Rank 0 is the master; the next `servers` ranks have the images on disk; the others are workers: each
requests a job, fetches both images from their server, searches them, and returns the result.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import operator
import random
import select
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import channels
import common

APP = "supernova"
LEAST_SIDE = 64
MOST_FOUND = 64
NEAR = 1  # pixels by which noise may move an object
REQUEST, JOB, NO_MORE, RESULT, FETCH, IMAGES, STOP = range(1, 8)


class Kernel:
    """The compiled image functions."""

    def __init__(self) -> None:
        library = common.kernels()
        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
        self._paint = library.flowsweep_supernova_paint
        self._paint.argtypes = (number, size, ctypes.c_bool, pointer)
        self._paint.restype = ctypes.c_bool
        self._truth = library.flowsweep_supernova_truth
        self._truth.argtypes, self._truth.restype = (number, size, pointer, size), size
        self._search = library.flowsweep_supernova_search
        self._search.argtypes = (pointer, pointer, size, pointer, size)
        self._search.restype = size
        self._room = (ctypes.c_int32 * (2 * MOST_FOUND))()

    def images(self, number: int, side: int) -> bytes:
        """Returns both images of a pair, one after the other."""
        room = (ctypes.c_uint16 * (side * side))()
        both = b""
        for second in (False, True):
            if not self._paint(number, side, second, room):
                raise ValueError(f"no image of {side} pixels")
            both += bytes(room)
        return both

    def truth(self, number: int, side: int) -> list[list[int]]:
        """Returns the places of new objects."""
        return self._places(self._truth(number, side, self._room, MOST_FOUND))

    def search(self, both: bytearray, side: int) -> list[list[int]]:
        """Returns the places of objects found in a pair."""
        size = 2 * side * side
        first = (ctypes.c_char * size).from_buffer(both)
        second = (ctypes.c_char * size).from_buffer(both, size)
        return self._places(self._search(first, second, side, self._room, MOST_FOUND))

    def _places(self, count: int) -> list[list[int]]:
        return [list(self._room[2 * i : 2 * i + 2]) for i in range(min(count, MOST_FOUND))]


class Sky:
    """All pairs of images: their sizes, effort and servers."""

    def __init__(self, problem: dict[str, Any]) -> None:
        common.only(problem, "pairs", "side", "servers", "pixel_ns", "spread", "seed")
        count = common.whole_number(problem, "pairs", 24, 1, 100_000)
        mean = common.whole_number(problem, "side", 300, LEAST_SIDE, 8192)
        self.servers = common.whole_number(problem, "servers", 1, 1, 1000)
        self.pixel_ns = common.number(problem, "pixel_ns", 6500, 0, 1e9)
        spread = common.number(problem, "spread", 0.3, 0, 1)
        seed = common.whole_number(problem, "seed", 1, 0, 2**31)
        chance = random.Random(seed)  # noqa: S311 - not a secret
        workers = common.ranks_started() - 1 - self.servers
        if workers < 1:
            expected = f"a master, {self.servers} servers and at least 1 worker"
            raise common.BadProblemError("ranks", common.ranks_started(), expected)
        if workers > count:
            expected = f"at most {count} workers: there are no more pairs"
            raise common.BadProblemError("ranks", f"{workers} workers", expected)
        # Images differ in size, and images of one size in their effort; a pixel of a larger image
        # takes longer, so that the last jobs are shorter than their fetches.
        self.sides = [
            max(LEAST_SIDE, round(mean * chance.lognormvariate(0, spread))) for _ in range(count)
        ]
        effort = [side * chance.lognormvariate(0, spread) for side in self.sides]
        sizes = [side**2 for side in self.sides]
        mean_effort = sum(map(operator.mul, effort, sizes)) / sum(sizes)
        self.effort = [one / mean_effort for one in effort]

    def server(self, pair: int) -> int:
        """Returns the rank that has a pair on its disk."""
        return 1 + pair % self.servers

    def size(self, pair: int) -> int:
        """Returns the bytes of both images."""
        return 4 * self.sides[pair] ** 2


def master(ranks: channels.Ranks, sky: Sky) -> dict[str, Any]:
    """Hands out the largest pair first; returns the answer when all results are back."""
    waiting = sorted(range(len(sky.sides)), key=sky.size)
    found: dict[int, list[list[int]]] = {}
    workers = {rank: ranks.control[rank] for rank in range(1 + sky.servers, ranks.size)}
    by_socket = {channel.socket: channel for channel in workers.values()}
    handed: list[int] = []
    ranks.start()
    last_job = end = 0.0
    while len(found) < len(sky.sides) or by_socket:
        for ready in select.select(list(by_socket), [], [])[0]:
            channel = by_socket[ready]
            message = channel.receive()
            if message.kind == RESULT:
                found[message.number] = json.loads(bytes(message.data))
                end = ranks.now()
            elif waiting:
                pair = waiting.pop()
                handed.append(sky.size(pair))
                channel.send(JOB, number=pair)
                last_job = ranks.now()
            else:
                channel.send(NO_MORE)
                del by_socket[ready]
    for rank in range(1, 1 + sky.servers):
        ranks.control[rank].send(STOP)
    ranks.phase("distribute", 0.0, last_job)
    ranks.phase("finish", last_job, end)
    kernel = Kernel()
    truth = {pair: kernel.truth(pair, side) for pair, side in enumerate(sky.sides)}
    wrong = [pair for pair in truth if not same(truth[pair], found[pair])]
    return {
        "start": common.utc(ranks.started_ns),
        "end": common.utc(ranks.started_ns + round(end * 1e9)),
        "completion_s": end,
        "answer": {
            "pairs": len(found),
            "candidates": sum(map(len, found.values())),
            "expected": sum(map(len, truth.values())),
            "wrong_pairs": wrong,
            "largest_first": handed == sorted(handed, reverse=True),
        },
        "correct": not wrong,
    }


def same(truth: list[list[int]], found: list[list[int]]) -> bool:
    """Returns whether the same objects were found, with places at most `NEAR` pixels apart."""

    def is_found(place: list[int]) -> bool:
        return any(all(abs(a - b) <= NEAR for a, b in zip(place, p, strict=True)) for p in found)

    return len(truth) == len(found) and all(map(is_found, truth))


def server(ranks: channels.Ranks, sky: Sky) -> None:
    """Serves image pairs from disk to several ranks at a time."""
    kernel = Kernel()
    with tempfile.TemporaryDirectory(prefix="supernova-") as name:
        folder = Path(name)
        for pair in range(ranks.rank - 1, len(sky.sides), sky.servers):
            (folder / f"{pair}").write_bytes(kernel.images(pair, sky.sides[pair]))
        ranks.start()
        serving: list[threading.Thread] = []
        threading.Thread(target=accept, args=(ranks, folder, serving), daemon=True).start()
        ranks.control[0].expect(STOP)
        ranks.phase("serve", 0.0, ranks.now())
        # A worker may have all images before the sending thread has counted them.
        for thread in serving:
            thread.join()


def accept(ranks: channels.Ranks, folder: Path, serving: list[threading.Thread]) -> None:
    """Serves each connection in its own thread."""
    while True:
        channel = ranks.accept()
        thread = threading.Thread(target=serve, args=(channel, folder), daemon=True)
        serving.append(thread)
        thread.start()


def serve(channel: channels.Channel, folder: Path) -> None:
    """Sends the one pair of a connection."""
    with contextlib.closing(channel):
        pair = channel.expect(FETCH).number
        channel.send(IMAGES, (folder / f"{pair}").read_bytes(), pair)


def worker(ranks: channels.Ranks, sky: Sky) -> None:
    """Requests, fetches, searches and returns pairs until there are no more."""
    kernel = Kernel()
    pace_ns = None if ranks.compute == "busy" else sky.pixel_ns
    pace = common.Pace(pace_ns)
    ranks.start()
    jobs = 0
    while True:
        ranks.control[0].send(REQUEST)
        message = ranks.control[0].receive()
        if message.kind == NO_MORE:
            break
        pair = message.number
        begin = ranks.now()
        with contextlib.closing(ranks.connect(sky.server(pair))) as channel:
            channel.send(FETCH, number=pair)
            images = channel.expect(IMAGES)
        span = (begin, images.end_s)
        ranks.transfer("job", sky.server(pair), ranks.rank, len(images.data), span)
        ranks.phase("fetch", begin, images.end_s)
        started = time.monotonic_ns()
        side = sky.sides[pair]
        found = kernel.search(images.data, side)
        pace.work(started, round(2 * side * side * sky.effort[pair]))
        ranks.phase("search", images.end_s, ranks.now())
        ranks.control[0].send(RESULT, json.dumps(found).encode(), pair)
        jobs += 1
    ranks.notes = {"jobs": jobs, "computing_s": pace.computing_ns / 1e9}


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's part."""
    sky = Sky(problem)
    ranks = channels.Ranks(APP, problem, compute)
    result: dict[str, Any] = {}
    if ranks.rank == 0:
        result = master(ranks, sky)
    elif ranks.rank <= sky.servers:
        server(ranks, sky)
    else:
        worker(ranks, sky)
    ranks.finish(output, result)


if __name__ == "__main__":
    common.run(APP, main)
