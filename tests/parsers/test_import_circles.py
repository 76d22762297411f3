"""No import cycles in a Rust crate: siblings import in one direction at every level."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

Module = tuple[str, ...]

#: The start of a path inside the crate; a tree in braces may follow.
PATH = re.compile(r"\b(?:crate|self|super)(?:::super)*::(?=[\w{])")


@dataclass
class Crate:
    """The modules of one crate: their text without tests, and what each re-exports."""

    texts: dict[Module, str] = field(default_factory=dict)
    exports: dict[Module, dict[str, Module]] = field(default_factory=dict)

    @classmethod
    def read(cls, source: Path) -> Crate:
        crate = cls()
        for path in sorted(source.rglob("*.rs")):
            parts = path.relative_to(source).with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            text = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
            crate.texts[module] = text.split("#[cfg(test)]\nmod tests {")[0]
        for module, text in crate.texts.items():
            crate.exports[module] = dict(crate.exported(module, text))
        return crate

    def exported(self, module: Module, text: str):
        """Yields the names that `module` re-exports, and the module each comes from."""
        for statement in re.finditer(r"\bpub(?:\([^)]*\))? use ([^;]+);", text):
            for path in expand(statement[1]):
                first, *rest = (name for name in path if name not in ("crate", "self"))
                base = () if path[0] == "crate" else module
                child = (*base, first)
                while rest and (*child, rest[0]) in self.texts:
                    child = (*child, rest.pop(0))
                if child in self.texts:
                    yield (rest or [child[-1]])[-1], child

    def resolve(self, module: Module, path: list[str]) -> Module:
        """Returns the module that defines what `path`, as written in `module`, names."""
        at = () if path[0] == "crate" else module
        for name in path:
            if name == "super":
                at = at[:-1]
            elif name in ("crate", "self"):
                continue
            elif (*at, name) in self.texts:
                at = (*at, name)
            elif name in self.exports.get(at, {}):
                at = self.exports[at][name]
            else:
                break
        return at

    def imports(self) -> dict[Module, dict[str, dict[str, str]]]:
        """Returns, by parent, which child imports which sibling, with one place of each import."""
        found: dict[Module, dict[str, dict[str, str]]] = {}
        for module, text in self.texts.items():
            for start in PATH.finditer(text):
                for path in expand(text[start.start() :]):
                    target = self.resolve(module, path)
                    depth = 0
                    while module[depth : depth + 1] == target[depth : depth + 1] != ():
                        depth += 1
                    # A module and a module inside it are not siblings.
                    if depth < min(len(module), len(target)):
                        place = f"{'::'.join(module)} uses {'::'.join(path)}"
                        siblings = found.setdefault(module[:depth], {})
                        siblings.setdefault(module[depth], {}).setdefault(target[depth], place)
        return found


def expand(text: str) -> list[list[str]]:
    """Returns every path of a tree such as `crate::{a, b::{C, D}}` at the start of `text`."""
    names = re.match(r"\s*((?:\w+(?:::)?)*)", text)
    path = [name for name in names[1].split("::") if name]
    rest = text[names.end() :]
    if not rest.startswith("{") or (path and not names[1].endswith("::")):
        return [path]
    depth, parts = 0, [""]
    for character in rest:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            break
        if character == "," and depth == 1:
            parts.append("")
        elif depth > 1 or character not in "{}":
            parts[-1] += character
    return [[*path, *more] for part in parts if part.strip() for more in expand(part)]


def circle(edges: dict[str, dict[str, str]]) -> list[str]:
    """Returns the places of one cycle; empty if there is none."""
    done: set[str] = set()

    def search(module: str, way: list[str]) -> list[str]:
        if module in way:
            around = [*way[way.index(module) :], module]
            return [edges[one][other] for one, other in itertools.pairwise(around)]
        if module in done:
            return []
        for other in edges.get(module, {}):
            if found := search(other, [*way, module]):
                return found
        done.add(module)
        return []

    return next((found for module in edges if (found := search(module, []))), [])


def circles(source: Path) -> dict[str, list[str]]:
    """Returns one cycle for each parent whose children import each other in one."""
    found = {parent: circle(edges) for parent, edges in Crate.read(source).imports().items()}
    return {"::".join(parent) or "the crate": places for parent, places in found.items() if places}


CRATES = ["parsers/src", "parsers/python/src"]


@pytest.mark.parametrize("source", CRATES)
def test_no_circle_among_the_modules_of(source, root):
    assert circles(root / source) == {}


def test_a_circle_is_found_through_what_a_module_hands_on(tmp_path):
    files = {
        "lib.rs": "mod one;\nmod two;\n",
        "one/mod.rs": "mod deep;\npub(crate) use deep::{Deep, Other};\n",
        "one/deep.rs": "use crate::two::{\n    Two,\n    inner::{A, B as C},\n};\nstruct Deep;\n",
        "two/mod.rs": "pub mod inner;\npub struct Two;\n",
        "two/inner.rs": "fn a() {}\n#[cfg(test)]\nmod tests {\n    use crate::one::Deep;\n}\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert circles(tmp_path) == {}  # a test may import anything
    (tmp_path / "two/inner.rs").write_text("fn a() -> crate::one::Deep { crate::one::Deep }\n")
    assert circles(tmp_path) == {
        "the crate": ["one::deep uses crate::two::Two", "two::inner uses crate::one::Deep"]
    }
    (tmp_path / "two/inner.rs").write_text("use super::Two;\n")
    (tmp_path / "two/other.rs").write_text("use super::inner::a;\n")
    (tmp_path / "two/inner.rs").write_text("use super::{Two, other::{self, b}};\n")
    assert circles(tmp_path) == {
        "two": ["two::inner uses super::other::self", "two::other uses super::inner::a"]
    }
