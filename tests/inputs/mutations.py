"""Valid documents with one to three errors, as people and attackers write them."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st


class Raw(str):
    """Text inserted into the document literally, which no JSON value could produce."""

    __slots__ = ()


#: Values of every kind that people get wrong, including valid kinds.
WRONG = [
    None, True, False, 0, -1, 1, 2, 255, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 1e308,
    -1e308, 0.1,
    1e-300, "", " ", "x", "0", "-1", "1e9", "16ms", "1h", "99999999h", "1e300s", "-5ms", "0Mbit/s",
    "100Mbit/s", "1e18Gbit/s", "256KiB", "1%", "200%", "NaN", "inf", "reno", "a b", "../..", "a/b",
    "pc1\n", "\x1b[31mred", "\x00", "\u202e", "\ud800", "ünï", "x" * 300, "9" * 5000, "1e400 s",
    "$(id)", "{x}",
    "{0.__class__}", "a\\b", "%2F", "[a]*", "hub", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
    "2026-11-20T23:40:12Z", "2026-13-45T99:99:99Z", "1677-01-01T00:00:00+14:00", "2026-11-20",
    "valid", "invalid",
    [], {}, [[]], [None], [1, "a"], {"a": None}, {"asked": "16ms"}, {"asked": [1]}, {"": {}},
    {"rtt": "16ms"},
    [{"rank": "x"}], [{"from": 2**70}], {"p99": "x"}, ["rtt", "rtt"], [["rtt"], ["nothing"]],
    list(range(300)),
    Raw("NaN"), Raw("-Infinity"), Raw("1e400"), Raw("9" * 5000), Raw("0" * 5000 + "1"),
    Raw("1e" + "9" * 30),
    Raw("[" * 70 + "]" * 70), Raw("[" * 3000), Raw('{"a": 1, "a": 2}'), Raw('"\\ud800"'),
    Raw('"\\u0000\\u001b"'),
    Raw("01"), Raw("+1"), Raw("'x'"), Raw("nan"), Raw("undefined"),
]  # fmt: skip
#: In addition, what only YAML has.
WRONG_YAML = [
    Raw(text)
    for text in (
        "2026-01-01", "0001-01-01 00:00:00", "2026-13-45", "1:2:3", "1:" * 300 + "1",
        "0x" + "f" * 600, "0b1", "0o7",
        ".nan", ".inf", "-.INF", "1_0_0", "_", "~", "yes", "!!binary 'AA=='", "!!set {a, b}",
        "!!int 'x'", "!!int ''",
        "!!float 'x'", "!!float '-'", "!!bool 'x'", "!!timestamp 'x'", "!!map [a]",
        "!!seq {a: b}", "!!null x", "!!str [a]",
        "!!python/object/apply:os.system ['id']", "!x y", "&a [*a]", "*nobody", "&a {<<: *a}",
        "{<<: [1]}", "{<<: 1}",
        "{? [a, b] : c}", "{? {a: b} : c}", "{2026-01-01: 1}", "{1: 2, null: 3, true: 4}",
        "{on: off}", "=", "<<", "|",
        '"\\e[31m"', '"\\x00"', '"\\uD800"', '"\\N\\L\\P"', "'\n\n'", "# x", "[a,,b]",
        "{a: {b: [}", "@x", "%x", "`x`",
        "[&a " + "x" * 50 + ", *a" * 200 + "]",
        "[&b [&a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]" + ", *a" * 20 + "]" + ", *b" * 200 + "]",
    )
]  # fmt: skip


def _paths(document: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the paths of every value in a document."""
    found = [here] if here else []
    items = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for key, value in items:
        found += _paths(value, (*here, key))
    return found


def _parent(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


@st.composite
def documents(draw: st.DrawFn, valid: list[dict[str, Any]], wrong: list[Any]) -> Any:
    """Draws a valid document with one to three changes."""
    document = copy.deepcopy(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(1, 3))):
        paths = _paths(document)
        if not paths:
            break
        path = draw(st.sampled_from(paths))
        parent, key = _parent(document, path), path[-1]
        value = copy.deepcopy(draw(st.sampled_from(wrong)))
        kind = draw(
            st.sampled_from(["replace"] * 6 + ["remove", "add", "rename", "repeat", "wrap"])
        )
        if kind == "replace":
            parent[key] = value
        elif kind == "remove":
            del parent[key]
        elif kind == "wrap":
            parent[key] = draw(st.sampled_from([[parent[key]], {"x": parent[key]}]))
        elif isinstance(parent, list):
            parent += [value] if kind == "add" else [copy.deepcopy(parent[key])] * 3
        elif kind == "repeat":
            # A duplicate key, as pasting in an editor leaves it.
            parent[f"@twin@{key}"] = value
        else:
            name = draw(
                st.sampled_from(
                    ["", "x", "asked", "rtt", "\x1b", "pc1\n", "dropped_x", "a.b", "$", "k" * 300]
                )
            )
            parent[name] = parent.pop(key) if kind == "rename" else value
    return document


def written(document: Any) -> str:
    """Returns the document as JSON, with raw text inserted literally."""
    raws: list[str] = []

    def plain(value: Any) -> Any:
        if isinstance(value, Raw):
            raws.append(value)
            return f"@raw{len(raws) - 1}@"
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list) else value

    # Duplicate keys are written with the same name.
    text = json.dumps(plain(document), indent=1).replace("@twin@", "")
    for number, raw in enumerate(raws):
        text = text.replace(f'"@raw{number}@"', raw)
    return text


@st.composite
def contents(draw: st.DrawFn, valid: list[dict[str, Any]], wrong: list[Any]) -> bytes:
    """Draws the bytes of a file: such a document, sometimes with a fault of the file itself."""
    content = written(draw(documents(valid, wrong))).encode("utf-8", "surrogatepass")
    kind = draw(
        st.sampled_from(
            ["whole"] * 12 + ["cut", "octet", "bom", "utf16", "empty", "twice", "lines"]
        )
    )
    place = draw(st.integers(0, max(0, len(content) - 1)))
    if kind == "cut":
        return content[:place]
    if kind == "octet":
        octet = draw(
            st.sampled_from(
                [b"\xff", b"\x00", b"\x1b", b"\xc3", b"{", b"}", b'"', b"\\", b"\t", b"\x85", b":"]
            )
        )
        return content[:place] + octet + content[place + 1 :]
    return {
        "whole": content,
        "bom": b"\xef\xbb\xbf" + content,
        "utf16": content.decode("utf-8", "replace").encode("utf-16"),
        "empty": b"",
        "twice": content + content,
        "lines": content.replace(b"\n", b"\r\n"),
    }[kind]
