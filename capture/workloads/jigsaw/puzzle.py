"""Makes a square jigsaw puzzle from a seed, and checks a solution.

A piece has edges (north, east, south, west); two edges fit if one is minus the other. The number
at a place is 4 * piece + quarter turns clockwise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

Edges = tuple[int, int, int, int]


def turned(edges: Edges, turns: int) -> Edges:
    """Returns a piece after quarter turns clockwise: one turn moves west to north."""
    return tuple(edges[(place - turns) % 4] for place in range(4))  # type: ignore[return-value]


def cut(side: int, colours: int, seed: int) -> tuple[list[Edges], list[int]]:
    """Returns the shuffled and turned pieces of a puzzle, and their solution."""
    chance = random.Random(seed)  # noqa: S311 - a puzzle, not a secret

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
    """Returns whether every piece is used once and all neighbours fit."""
    if sorted(number // 4 for number in laid) != list(range(side * side)):
        return False
    edges = [turned(pieces[number // 4], number % 4) for number in laid]
    return all(
        (place % side == side - 1 or edges[place][1] == -edges[place + 1][3])
        and (place >= side * (side - 1) or edges[place][2] == -edges[place + side][0])
        for place in range(side * side)
    )


def quarter(laid: Sequence[int], side: int) -> list[int]:
    """Returns the whole puzzle after a quarter turn, which is another solution."""
    return [
        laid[(side - 1 - column) * side + row] // 4 * 4
        + (laid[(side - 1 - column) * side + row] + 1) % 4
        for row in range(side)
        for column in range(side)
    ]
