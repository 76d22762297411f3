"""Turns faults that pydantic found into the parts of a `FlowsweepError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

#: What was expected, by pydantic's name of the fault.
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number, without quotes",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number, without quotes",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "list_type": "a list",
    "tuple_type": "a list",
    "missing": "this key",
    "extra_forbidden": "known keys alone",
}


def refused(
    what: str, found: str | None, expected: str | None, remedy: str | None = None
) -> PydanticCustomError:
    """Returns a fault with the parts of a `FlowsweepError`; the file's reader adds the place."""
    parts = {"what": what, "found": found, "expected": expected, "remedy": remedy}
    return PydanticCustomError("refused", "{what}", parts)


def expected_of(fault: ErrorDetails) -> str:
    """Says what was expected, for a fault that `refused` did not make."""
    message = fault["msg"]
    return _EXPECTED.get(fault["type"], message[0].lower() + message[1:])
