"""Fails on words that a reader of code or prose stumbles over; `make check-text` runs it.

A name is a noun for a value and a verb phrase for a function: `told`, `said` and `mine` are
neither.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = {"few": "is_few, or the noun", "of": "the noun"}
#: Words that are banned as parts of a name, too, and what to write instead.
PARTS = {
    "told": "what is known or shown",
    "untold": "what is unknown",
    "said": "the noun: text, output",
    "unsaid": "the noun",
    "mine": "own, or the noun",
}
PROSE = {
    r"of which none": "none of them",
    r"the one named last": "the last one",
    r"the begin of": "the start of",
    r"(?:is|be|are) to be believed": "valid, reliable",
    r"may the captures be believed": "are the captures reliable",
    r"\bwhereof\b": "of which",
    r"as is known\b": "leave it out",
    r"\bso it is that\b": "leave it out",
    r"in ever wider": "over longer",
}
#: A declaration of a name in JavaScript, Rust and SQL; comments are removed first.
DECLARED = {
    ".js": re.compile(r"\b(?:const|let|function)\s+(\w+)"),
    ".rs": re.compile(r"\b(?:let(?: mut)?|fn|struct|enum|mod|for)\s+(\w+)"),
    ".sql": re.compile(r"^\s*(\w+) as \(|\bas (\w+),?$", re.MULTILINE),
}
COMMENTS = {".js": r"//.*", ".rs": r"//.*", ".sql": r"--.*"}


def main() -> int:
    """Prints each finding with its place; returns 1 if there is one."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    paths = [Path(name) for name in listed.stdout.split() if Path(name).is_file()]
    own = Path(__file__).resolve()
    found = []
    for path in paths:
        if (
            path.suffix not in {".py", ".rs", ".sql", ".js", ".md", ".yaml", ".j2"}
            or path.resolve() == own
        ):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path}:{line}: {words}" for line, words in _prose(text)]
        for line, name, better in _banned(path.suffix, text):
            found.append(f'{path}:{line}: the name "{name}"; write {better}')
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


def _prose(text: str) -> Iterator[tuple[int, str]]:
    for pattern, better in PROSE.items():
        # A phrase may continue in the next line of a comment.
        for match in re.finditer(pattern.replace(" ", r"\s+(?:#|//+!?|--)?\s*"), text):
            yield text.count("\n", 0, match.start()) + 1, f'"{match[0]}"; write {better}'


def _banned(suffix: str, text: str) -> Iterator[tuple[int, str, str]]:
    """Finds the banned names that a file declares, with their lines and what to write instead."""
    for line, name in _declared(suffix, text):
        bare = name.strip("_").lower()
        if bare in NAMES:
            yield line, name, NAMES[bare]
        elif bare.startswith("of_"):
            yield line, name, "the noun first"
        for part in PARTS.keys() & set(bare.split("_")):
            yield line, name, PARTS[part]


def _declared(suffix: str, text: str) -> Iterator[tuple[int, str]]:
    """Finds the names that a file declares, with their lines."""
    if suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.lineno, node.id
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.lineno, node.name
            elif isinstance(node, ast.arg):
                yield node.lineno, node.arg
    elif suffix in DECLARED:
        bare = re.sub(COMMENTS[suffix], "", text)
        for match in DECLARED[suffix].finditer(bare):
            name = next(group for group in match.groups() if group)
            # The columns of a query are a contract.
            is_column = suffix == ".sql" and match[1] is None
            if not (is_column and name.startswith("of_")):
                yield bare.count("\n", 0, match.end()) + 1, name


if __name__ == "__main__":
    sys.exit(main())
