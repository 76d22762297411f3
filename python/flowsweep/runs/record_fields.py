"""Types of the values in run.json and app.json, and the messages for wrong values."""

from __future__ import annotations

import difflib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs
from flowsweep.validation import expected_of, refused

MOST_INT64 = 2**63 - 1
#: The least similarity for a hint, as of `completion` and `completion_s`, or `rank` and `ranks`.
NEAR = 0.8


def _name(value: object) -> object:
    """Checks the name of an application, host or site: no control characters."""
    if isinstance(value, str) and (inputs.has_control(value) or "\n" in value or "\t" in value):
        raise refused(
            "a name with a control character",
            inputs.shorten_value(value),
            "characters that can be seen",
        )
    return value


def _time(value: object) -> object:
    """Parses RFC 3339 with up to nine decimals into nanoseconds since the epoch.

    A time outside the range of 64-bit nanoseconds becomes None: the clock was wrong, but the rest
    of the run is valid.
    """
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise refused("not a time", inputs.shorten_value(value), TIME)
    match = re.fullmatch(r"([0-9T: \-]{10,19}?)(?:\.([0-9]{1,9}))?(Z|[+-][0-9:]{2,6})", value)
    if match is None:
        raise refused("not a time", inputs.shorten_value(value), TIME)
    whole, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(whole + zone.replace("Z", "+00:00"))
        seconds = (moment - _EPOCH) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        raise refused("not a time", inputs.shorten_value(value), TIME) from None
    found = seconds * 10**9 + int((fraction or "0").ljust(9, "0"))
    # DuckDB treats the extreme values at both ends as infinite.
    return found if -MOST_INT64 < found < MOST_INT64 else None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIME = 'a time with its zone, as "2026-11-20T23:40:12.123456789Z"'
Name = Annotated[str, BeforeValidator(_name), Field(max_length=1000)]
Time = Annotated[int | None, BeforeValidator(_time)]
Whole = Annotated[int, Field(ge=-MOST_INT64, le=MOST_INT64)]
Count = Annotated[int, Field(ge=0, le=MOST_INT64)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Record(BaseModel):
    """A record with strict types: "3" is no number, 1 is not true. Other keys are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, defer_build=True)


def find_misspelt(kind: type[Record], record: dict[str, Any]) -> list[str]:
    """Returns a line for each unread key that resembles a missing key that would be read."""
    read = {field.alias or name for name, field in kind.model_fields.items()}
    lines = []
    for key in record.keys() - read:
        near = difflib.get_close_matches(key, read - record.keys(), n=1, cutoff=NEAR)
        lines += [f"`{key}` is not read; `{near[0]}` would be" for _ in near]
    return sorted(lines)


def only_objects(value: object) -> object:
    """Replaces a value that is no list by an empty list, and items that are no objects by `{}`."""
    return [only_object(one) for one in value] if isinstance(value, list) else []


def only_object(value: object) -> object:
    """Replaces a value that is no object by `{}`: programs may use the key in their own way."""
    return value if isinstance(value, dict) else {}


def checked(kind: type[Record], record: dict[str, Any], path: Path) -> Any:
    """Validates the record as a model of this kind.

    Raises:
        FlowsweepError: A value is wrong; names the file and the place of the first one.
    """
    try:
        return kind.model_validate(record)
    except ValidationError as error:
        raise _describe_faults(path, error) from None


def _describe_faults(path: Path, error: ValidationError) -> FlowsweepError:
    faults = error.errors(include_url=False)
    fault = faults[0]
    # Pydantic's names for the members of a union are not places in the file.
    parts = [part for part in fault["loc"] if not str(part).startswith(("function-", "nullable"))]
    place = inputs.place_of(parts)
    more = f" ({len(faults) - 1} more to correct after it)" if len(faults) > 1 else ""
    if fault["type"] == "refused":
        context = fault["ctx"]
        what, found, expected = context["what"], context["found"], context["expected"]
    else:
        what, found = "not what it should be", inputs.shorten_value(fault["input"])
        expected = expected_of(fault)
    return FlowsweepError(
        f"{path}: {place}: {what}",
        found=found,
        expected=expected,
        remedy=f"correct {place}, or leave it out{more}",
    )
