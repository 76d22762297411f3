"""Which tables a query reads, and an order in which each table comes after all that it reads."""

from __future__ import annotations

import functools
import re

from flowsweep.errors import FlowsweepError


@functools.lru_cache(maxsize=1_024)  # several warehouses of a process search the same models
def table_names(sql: str) -> frozenset[str]:
    """Returns the names that follow `from` or `join`: the tables that a query reads."""
    code = re.sub(r"--[^\n]*", "", sql)
    return frozenset(re.findall(r"\b(?:from|join)\s+([a-z_][a-z0-9_]*)", code))


def in_order(reads: dict[str, set[str]]) -> list[str]:
    """Returns the names in an order in which each comes after all that it reads.

    Raises:
        FlowsweepError: The names read each other in a circle.
    """
    done: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise FlowsweepError(f"models read each other in a circle: {' -> '.join(path)}")
        if name in done:
            return
        for other in sorted(reads[name]):
            visit(other, (*path, name))
        done.append(name)

    for name in sorted(reads):
        visit(name, ())
    return done
