"""Prints a table of TCP's RFC rules: where the parser implements each and which tests check it.

A rule is cited as "RFC 9293 3.4" in the comment of the code that implements it, and in the
docstring of a test of that rule: `python tests/parsers/rules.py` lists both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("parsers/src/track", "parsers/src/sift", "parsers/src/decode")
TESTS = ("tests/parsers",)
#: TCP, its window scale, SACK, duplicate SACK, RTT samples, duplicate acknowledgements.
RFCS = ("9293", "7323", "2018", "2883", "6298", "5681")
_RULE = re.compile(rf"\bRFC ({'|'.join(RFCS)}) (\d+(?:\.\d+)*)")
_FUNCTION = re.compile(
    r"\s*(?:pub(?:\([a-z]+\))? )?(?:fn|struct|enum|const|static) (\w+)|\s*pub (\w+):"
)


@dataclass(frozen=True, order=True)
class Place:
    """Where a rule is cited: `RFC 9293 3.4`, the file, the line, and the function or test there."""

    rule: str
    file: str
    line: int
    name: str


def in_code() -> list[Place]:
    """Returns every citation in the parser's TCP and option code, with the function it is for."""
    return sorted(
        place
        for folder in CODE
        for path in sorted((ROOT / folder).rglob("*.rs"))
        for place in _find_in_rust(path)
    )


def in_tests() -> list[Place]:
    """Returns every citation in the docstring of a test."""
    return sorted(
        place
        for folder in TESTS
        for path in sorted((ROOT / folder).glob("test_*.py"))
        for place in _find_in_python(path)
    )


def _find_in_rust(path: Path) -> Iterator[Place]:
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        comment = line.lstrip()
        if not comment.startswith("//"):
            continue
        # A doc comment precedes its function; a comment inside a function follows the head.
        ahead = lines[number:] if comment.startswith("///") else lines[number - 1 :: -1]
        name = next((found[1] or found[2] for one in ahead if (found := _FUNCTION.match(one))), "")
        if comment.startswith("//!"):
            name = path.stem
        for rfc, section in _RULE.findall(comment):
            yield Place(f"RFC {rfc} {section}", str(path.relative_to(ROOT)), number, name)


def _find_in_python(path: Path) -> Iterator[Place]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for rfc, section in _RULE.findall(ast.get_docstring(node) or ""):
                file = str(path.relative_to(ROOT))
                yield Place(f"RFC {rfc} {section}", file, node.lineno, node.name)


def _order(rule: str) -> tuple[int, list[int]]:
    _, rfc, section = rule.split()
    return RFCS.index(rfc), [int(part) for part in section.split(".")]


def main() -> None:
    """Prints one block per rule: the code that implements it and the tests that check it."""
    code, tests = in_code(), in_tests()
    for rule in sorted({place.rule for place in [*code, *tests]}, key=_order):
        print(rule)
        for kind, places in (("obeyed by", code), ("held by", tests)):
            for place in places:
                if place.rule == rule:
                    print(f"  {kind:<9} {place.name:<40} {place.file}:{place.line}")


if __name__ == "__main__":
    main()
