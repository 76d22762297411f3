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

NAMES = {"told": "the noun: message, report, rows", "said": "the noun: text, output, listed",
         "mine": "own, or the noun", "Said": "the noun", "few": "is_few, or the noun",
         "of": "the noun"}  # fmt: skip
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
#: A declaration of a name, in Rust and in SQL; comments are cut off before.
DECLARED = {
    ".rs": re.compile(r"\b(?:let(?: mut)?|fn|struct|enum|mod|for)\s+(\w+)"),
    ".sql": re.compile(r"^\s*(\w+) as \(|\bas (\w+),?$", re.MULTILINE),
}
COMMENTS = {".rs": r"//.*", ".sql": r"--.*"}


def main() -> int:
    """Prints each finding with its place; 1 if there is one."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    paths = [Path(name) for name in listed.stdout.split() if Path(name).is_file()]
    own = Path(__file__).resolve()
    found = []
    for path in paths:
        if (
            path.suffix not in {".py", ".rs", ".sql", ".md", ".yaml", ".j2"}
            or path.resolve() == own
        ):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path}:{line}: {words}" for line, words in _prose(text)]
        for line, name in _names(path.suffix, text):
            found.append(
                f'{path}:{line}: the name "{name}"; write {NAMES.get(name, "the noun first")}'
            )
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


def _prose(text: str) -> Iterator[tuple[int, str]]:
    for pattern, better in PROSE.items():
        # A phrase may go on in the next line of a comment.
        for match in re.finditer(pattern.replace(" ", r"\s+(?:#|//+!?|--)?\s*"), text):
            yield text.count("\n", 0, match.start()) + 1, f'"{match[0]}"; write {better}'


def _names(suffix: str, text: str) -> Iterator[tuple[int, str]]:
    """Places where a name that is banned is made: of `NAMES`, or one that begins with `of_`."""
    if suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            name = ""
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                name = node.name
            elif isinstance(node, ast.arg):
                name = node.arg
            name = name.lstrip("_")
            if name in NAMES or name.startswith("of_"):
                yield node.lineno, name
    elif suffix in DECLARED:
        bare = re.sub(COMMENTS[suffix], "", text)
        for match in DECLARED[suffix].finditer(bare):
            name = next(group for group in match.groups() if group)
            # The columns of a query are a contract.
            if name in NAMES or (name.startswith("of_") and suffix != ".sql"):
                yield bare.count("\n", 0, match.end()) + 1, name


if __name__ == "__main__":
    sys.exit(main())
