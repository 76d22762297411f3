"""Reads YAML, within limits, as a tree with line numbers and as plain values.

An experiment file may come from anyone. With aliases, ten lines can expand to a billion values;
nested brackets overflow the parser's stack; and YAML has types that JSON lacks (dates, sets, NaN).
So the number of values is limited, and only types that run.json can contain are accepted.
"""

from __future__ import annotations

import math
from typing import Any

import yaml

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs

#: The most keys and values, with all aliases expanded.
MOST_VALUES = 20_000
#: The most characters of all keys and values, counted likewise.
MOST_CHARACTERS = 2**20
#: The most aliases: a sensible file uses an anchor only a few times.
MOST_ALIASES = 1_000
#: The most characters of a number: no quantity needs more.
MOST_DIGITS = 40

_KINDS = {yaml.ScalarNode: "text", yaml.SequenceNode: "a list", yaml.MappingNode: "keys"}


class _Loader(yaml.CSafeLoader):
    """Converts YAML to JSON types; dates become text."""

    # PyYAML looks for resolvers in this class attribute.
    yaml_implicit_resolvers = {  # noqa: RUF012 - as in PyYAML
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {}  # noqa: RUF012


def read(text: str) -> tuple[yaml.Node | None, Any]:
    """Returns the tree and the value of the single document in `text`; None if it is empty.

    Raises:
        FlowsweepError: The text exceeds a limit, repeats a key, or has an invalid number; the
            message begins with `line N`.
        yaml.YAMLError: The text is not YAML.
    """
    _check_size(text)
    loader = _Loader(text)
    try:
        tree = loader.get_single_node()
        if tree is None:
            return None, None
        _check_expansion(tree)
        return tree, loader.construct_document(tree)
    finally:
        loader.dispose()


def _check_size(text: str) -> None:
    """Checks depth and number of values before parsing a tree: PyYAML recurses without limit."""
    depth = values = aliases = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.NodeEvent):
            values += 1
            aliases += isinstance(event, yaml.AliasEvent)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > inputs.MOST_DEPTH:
            found = f"more than {inputs.MOST_DEPTH} levels"
            raise _refusal(event, "nested too deeply", found, f"at most {inputs.MOST_DEPTH}")
        if values > MOST_VALUES:
            raise _too_many(event)
        if aliases > MOST_ALIASES:
            found = f"more than {MOST_ALIASES:,} aliases"
            raise _refusal(event, "too many aliases", found, f"at most {MOST_ALIASES:,}")


def _check_expansion(tree: yaml.Node) -> None:
    """Checks the number of values and characters with every alias expanded."""
    sizes: dict[int, tuple[int, int]] = {}
    inside: set[int] = set()

    def size(node: yaml.Node) -> tuple[int, int]:
        key = id(node)
        if key in inside:
            found = "a list or keys without an end"
            expected = "an anchor that is finished before it is used"
            raise _refusal(node, "an alias within its own anchor", found, expected)
        if key not in sizes:
            inside.add(key)
            values, characters = 1, 0
            if isinstance(node, yaml.ScalarNode):
                characters = len(node.value)
            for part in node.value if isinstance(node, yaml.CollectionNode) else ():
                for one in part if isinstance(part, tuple) else (part,):
                    more_values, more_characters = size(one)
                    values += more_values
                    characters += more_characters
            sizes[key] = values, characters
            inside.remove(key)
            if values > MOST_VALUES or characters > MOST_CHARACTERS:
                raise _too_many(node)
        return sizes[key]

    size(tree)


def _too_many(place: yaml.Node | yaml.Event) -> FlowsweepError:
    return _refusal(
        place,
        "too many values for an experiment",
        f"more than {MOST_VALUES:,}, or {MOST_CHARACTERS:,} characters; what an alias stands for "
        "counts wherever it stands",
        f"at most {MOST_VALUES:,} values and {MOST_CHARACTERS:,} characters",
    )


def _refusal(
    place: yaml.Node | yaml.Event, what: str, found: str | None, expected: str
) -> FlowsweepError:
    line = place.start_mark.line + 1 if place.start_mark else 1
    return FlowsweepError(
        f"line {line}: {what}", found=found, expected=expected, remedy=f"correct line {line}"
    )


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise _refusal(node, "not keys with values", _KINDS[type(node)], "key: value")
    seen: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise _refusal(key, "a key is not text", _KINDS[type(key)], "key: value")
        if key.value in seen:
            raise FlowsweepError(
                f'line {line}: "{key.value}" stands twice',
                found=f"also in line {seen[key.value]}",
                expected="each key once",
                remedy=f"remove line {line}",
            )
        seen[key.value] = line
    loader.flatten_mapping(node)
    # A key is text even if it looks like a number or a date.
    return {
        _text(loader, key): loader.construct_object(value, deep=True) for key, value in node.value
    }


def _sequence(loader: _Loader, node: yaml.SequenceNode) -> list[Any]:
    if not isinstance(node, yaml.SequenceNode):
        raise _refusal(node, "not a list", _KINDS[type(node)], "[a, b]")
    return [loader.construct_object(part, deep=True) for part in node.value]


def _text(_: _Loader, node: yaml.Node) -> str:
    value = _scalar(node, "text")
    if inputs.has_control(value):
        raise _refusal(node, "a control character in a text", inputs.shorten_value(value),
                       "characters that can be seen, tabs and line ends")  # fmt: skip
    return value


def _scalar(node: yaml.Node, expected: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _refusal(node, f"not {expected}", _KINDS[type(node)], expected)
    value: str = node.value
    return value


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = _scalar(node, "a whole number")
    expected = f"a whole number of at most 64 bits, up to {inputs.MOST_INTEGER}"
    value = None
    if len(text) <= MOST_DIGITS:
        try:
            value = int(loader.construct_yaml_int(node))
        except (ValueError, OverflowError, IndexError):  # a text with the tag of a number
            value = None
    if value is None or not inputs.LEAST_INTEGER <= value <= inputs.MOST_INTEGER:
        raise _refusal(node, "not a number that can be used", inputs.shorten_value(text), expected)
    return value


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    text = _scalar(node, "a number")
    value = math.nan
    if len(text) <= MOST_DIGITS:
        try:
            value = float(loader.construct_yaml_float(node))
        except (ValueError, OverflowError, IndexError):
            value = math.nan
    if not math.isfinite(value):
        raise _refusal(
            node, "not a number that can be used", inputs.shorten_value(text), "a number"
        )
    return value


def _boolean(loader: _Loader, node: yaml.Node) -> bool:
    text = _scalar(node, "true or false")
    if text.lower() not in loader.bool_values:
        raise _refusal(node, "neither true nor false", inputs.shorten_value(text), "true or false")
    return bool(loader.bool_values[text.lower()])


def _null(_: _Loader, node: yaml.Node) -> None:
    _scalar(node, "null")


for _tag, _constructor in {
    "null": _null,
    "bool": _boolean,
    "int": _integer,
    "float": _float,
    "str": _text,
    "seq": _sequence,
    "map": _mapping,
}.items():
    _Loader.yaml_constructors[f"tag:yaml.org,2002:{_tag}"] = _constructor
_Loader.yaml_constructors[None] = yaml.CSafeLoader.construct_undefined
