"""Makes a square jigsaw puzzle from a seed, and checks a laid one.

A piece has edges (north, east, south, west); two fit if one is minus the other. What lies on a
place is 4 * piece + quarter turns clockwise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

Edges = tuple[int, int, int, int]


def turned(edges: Edges, turns: int) -> Edges:
    """A piece after quarter turns clockwise: what was west is north."""
    return tuple(edges[(place - turns) % 4] for place in range(4))  # type: ignore[return-value]


def cut(side: int, colours: int, seed: int) -> tuple[list[Edges], list[int]]:
    """The pieces of a puzzle, shuffled and turned, and how they were before."""
    chance = random.Random(seed)  # noqa: S311 - a puzzle, no secret

    def edge() -> int:
        return chance.choice((-1, 1)) * chance.randint(1, colours)

    south = [[edge() for _ in range(side)] for _ in range(side + 1)]
    east = [[edge() for _ in range(side + 1)] for _ in range(side)]
    whole: list[Edges] = [
        (-south[row][column], east[row][column + 1], south[row + 1][column], -east[row][column])
        for row in range(side)
        for column in range(side)
    ]
    order = list(range(side * side))
    chance.shuffle(order)
    turns = [chance.randrange(4) for _ in order]
    pieces = [turned(whole[place], turn) for place, turn in zip(order, turns, strict=True)]
    laid = [0] * len(order)
    for piece, (place, turn) in enumerate(zip(order, turns, strict=True)):
        laid[place] = 4 * piece + -turn % 4
    return pieces, laid


def fits(pieces: Sequence[Edges], side: int, laid: Sequence[int]) -> bool:
    """Whether every piece lies once and all neighbours fit."""
    if sorted(number // 4 for number in laid) != list(range(side * side)):
        return False
    edges = [turned(pieces[number // 4], number % 4) for number in laid]
    return all(
        (place % side == side - 1 or edges[place][1] == -edges[place + 1][3])
        and (place >= side * (side - 1) or edges[place][2] == -edges[place + side][0])
        for place in range(side * side)
    )


def quarter(laid: Sequence[int], side: int) -> list[int]:
    """The whole puzzle turned by a quarter: right again, and another placing of the pieces."""
    return [
        laid[(side - 1 - column) * side + row] // 4 * 4
        + (laid[(side - 1 - column) * side + row] + 1) % 4
        for row in range(side)
        for column in range(side)
    ]
