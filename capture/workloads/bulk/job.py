"""The parameters of a transfer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import common

MOST_FILES = 450  # each is open twice during a transfer, and the usual limit is 1,024 open files


class Job:
    """The parameters."""

    def __init__(self, problem: dict[str, Any]) -> None:
        common.only(
            problem,
            *("transport", "source", "target", "both_ways", "beside", "megabytes"),
            *("start_mbit_s", "least_mbit_s", "most_mbit_s", "seed", "folder", "files"),
        )
        self.transport = common.choice(problem, "transport", ("lambda", "tcp", "udp"))
        self.source = common.choice(problem, "source", ("memory", "disk"))
        self.target = common.choice(problem, "target", ("memory", "disk"))
        self.both_ways = common.switch(problem, "both_ways", default=False)
        self.beside = common.choice(problem, "beside", ("nothing", "tcp")) == "tcp"
        self.bytes = round(common.number(problem, "megabytes", 32, 0.001, 1e5) * 1e6)
        self.files = common.whole_number(problem, "files", 1, 1, MOST_FILES // (1 + self.both_ways))
        if self.bytes % self.files:
            wanted = f"a number that divides the {self.bytes} bytes of a stream"
            raise common.BadProblemError("files", self.files, wanted)
        self.start_bit_s = common.number(problem, "start_mbit_s", 20, 0.1, 1e5) * 1e6
        start = self.start_bit_s / 1e6
        self.least_bit_s = 1e6 * common.number(problem, "least_mbit_s", start / 4, 1e-3, start)
        self.most_bit_s = 1e6 * common.number(problem, "most_mbit_s", 1e5, start, 1e5)
        self.seed = common.whole_number(problem, "seed", 1, 0, 2**31)
        # /tmp may be in memory.
        self.folder = Path(common.text(problem, "folder") or "/var/tmp")  # noqa: S108 - without a name
        if not self.folder.is_dir():
            raise common.BadProblemError("folder", str(self.folder), "a folder")
        ranks = common.ranks_started()
        if ranks < 2 or ranks % 2:
            raise common.BadProblemError("ranks", ranks, "an even number: senders and receivers")
