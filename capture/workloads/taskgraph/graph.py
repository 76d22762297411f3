"""Makes tasks from a file of the Standard Task Graph Set or a seed, with priorities and answers.

The format has neither data nor memory: the sizes that a task needs and outputs come from the seed.
"""

from __future__ import annotations

import hashlib
import math
import random
from dataclasses import dataclass
from pathlib import Path

import common

MAX_TIME = 20  # of a generated task, in units; the set's own random graphs have 1 to 20 or less
REACH = 30  # default: a generated task depends on some of this many tasks before it


@dataclass(frozen=True)
class Task:
    """One task: `time` in units, `memory` in MB while it runs, `size` of its output in bytes."""

    number: int
    time: int
    inputs: tuple[int, ...]
    memory: int = 0
    size: int = 0


def read(path: Path) -> list[Task]:
    """Reads the tasks of a .stg file, the two dummies included.

    First line: the number of tasks without the dummies. Then one line for each task: number,
    time, number of predecessors, predecessors. A # begins a comment.
    """
    rows = _rows(path)
    place, words = rows[0]
    if len(words) != 1:
        raise _fault(path, place, words, "the number of tasks alone")
    expected = words[0] + 2
    if len(rows) - 1 < expected:
        raise _fault(path, rows[-1][0], "the end", f"{expected} tasks, the two dummies included")
    tasks = []
    for number, (place, words) in enumerate(rows[1 : expected + 1]):
        if len(words) < 3 or len(words) != 3 + words[2] or words[0] != number:
            wanted = f"{number}, its time, how many predecessors, and so many numbers"
            raise _fault(path, place, words, wanted)
        if any(before >= expected for before in words[3:]):
            raise _fault(path, place, words, f"predecessors below {expected}")
        tasks.append(Task(number, words[1], tuple(dict.fromkeys(words[3:]))))
    if len(in_order(tasks)) < len(tasks):
        raise common.BadProblemError("graph", path.name, "a graph without circles")
    return tasks


def _rows(path: Path) -> list[tuple[int, list[int]]]:
    """Reads lines with their numbers, without comments and empty lines; at least one."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        expected = f"a readable .stg file ({type(error).__name__})"
        raise common.BadProblemError("graph", str(path), expected) from None
    rows = []
    for place, line in enumerate(lines, start=1):
        words = line.split("#")[0].split()
        if not all(word.isdecimal() for word in words):
            raise _fault(path, place, words, "whole numbers")
        if words:
            rows.append((place, [int(word) for word in words]))
    if not rows:
        raise _fault(path, 1, "the end", "the number of tasks")
    return rows


def _fault(path: Path, place: int, found: object, expected: str) -> common.BadProblemError:
    return common.BadProblemError("graph", f"{path.name}, line {place}: {found}", expected)


def generate(count: int, seed: int, reach: int = REACH) -> list[Task]:
    """Makes `count` tasks between two dummies; each depends on up to four of the `reach` before it.

    Twice the tasks with twice the reach keep the longest path about the same.
    """
    chance = random.Random(seed)  # noqa: S311 - a graph, not a secret
    tasks = [Task(0, 0, ())]
    for number in range(1, count + 1):
        near = range(max(1, number - reach), number)
        wanted = min(len(near), chance.choice((1, 1, 2, 2, 3, 4)))
        inputs = tuple(sorted(chance.sample(near, wanted))) if wanted else (0,)
        tasks.append(Task(number, chance.randint(1, MAX_TIME), inputs))
    used = {before for task in tasks for before in task.inputs}
    ends = tuple(number for number in range(1, count + 1) if number not in used)
    return [*tasks, Task(count + 1, 0, ends)]


def furnish(
    tasks: list[Task], seed: int, least: int, most: int, memory: tuple[int, int]
) -> list[Task]:
    """Adds data and memory to the tasks, both log-uniformly distributed."""
    chance = random.Random(seed)  # noqa: S311 - as above

    def spread(low: int, high: int) -> int:
        return round(math.exp(chance.uniform(math.log(low), math.log(high))))

    return [
        Task(task.number, task.time, task.inputs, spread(*memory), spread(least, most))
        for task in tasks
    ]


def followers(tasks: list[Task]) -> list[list[int]]:
    """Returns the tasks that need the output of each task."""
    found: list[list[int]] = [[] for _ in tasks]
    for task in tasks:
        for before in task.inputs:
            found[before].append(task.number)
    return found


def in_order(tasks: list[Task]) -> list[int]:
    """Sorts the tasks topologically; tasks on or after a cycle are missing."""
    missing = [len(task.inputs) for task in tasks]
    after = followers(tasks)
    ready = [task.number for task in tasks if not task.inputs]
    for number in ready:
        for follower in after[number]:
            missing[follower] -= 1
            if missing[follower] == 0:
                ready.append(follower)
    return ready


def priorities(tasks: list[Task]) -> list[int]:
    """Returns the longest path from the start of each task to the end of all, in units of time."""
    longest = [0] * len(tasks)
    after = followers(tasks)
    for number in reversed(in_order(tasks)):
        longest[number] = tasks[number].time + max((longest[n] for n in after[number]), default=0)
    return longest


def compute(task: Task, inputs: list[bytes], unit_rounds: int) -> bytes:
    """Computes the output of a task from its inputs' digests, in the order of `task.inputs`."""
    seed = hashlib.sha256(b"".join([task.number.to_bytes(4, "big"), *inputs])).digest()
    if task.time:
        seed = hashlib.pbkdf2_hmac("sha256", seed, b"taskgraph", task.time * unit_rounds)
    return hashlib.shake_128(seed).digest(task.size)


def digest(output: bytes | bytearray) -> bytes:
    """Returns the digest that represents an output in the computation of others."""
    return hashlib.sha256(output).digest()


def reference(tasks: list[Task], unit_rounds: int) -> bytes:
    """Computes the digest of the last task's output in one process."""
    known: dict[int, bytes] = {}
    for number in in_order(tasks):
        inputs = [known[before] for before in tasks[number].inputs]
        known[number] = digest(compute(tasks[number], inputs, unit_rounds))
    return known[len(tasks) - 1]
