"""Converts text with units ("16ms", "100Mbit/s", "256KiB") to base units and back.

Times are integer nanoseconds, rates bit/s, sizes bytes, fractions plain numbers.
Rates have decimal prefixes; sizes have decimal (kB) or binary (KiB) ones.
"""

from __future__ import annotations

import re
from decimal import Decimal

from flowsweep.errors import FlowsweepError

TIME_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
RATE_UNITS = {
    "bit/s": 1,
    "kbit/s": 10**3,
    "Mbit/s": 10**6,
    "Gbit/s": 10**9,
}
SIZE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}

#: Largest value of a table column, in the base unit. An exponent could ask for millions of digits.
MOST = 2**63 - 1

#: Bit rates as other tools write them. Bytes per second are a different rate and are left out.
_MEANT = {"bps": "bit/s", "kbps": "kbit/s", "Mbps": "Mbit/s", "Gbps": "Gbit/s"}
_MEANT |= {unit.replace("bps", "bit"): meant for unit, meant in _MEANT.items()}
_MEANT |= {unit.replace("bps", "b/s"): meant for unit, meant in _MEANT.items() if "bps" in unit}

#: Possessive (`++`): backtracking would take time quadratic in the length of the text.
_NUMBER = r"[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+"
_QUANTITY = re.compile(rf"\s*+([+-]?+{_NUMBER})\s*+(\S*+)\s*+")
_FRACTION = re.compile(rf"\s*+({_NUMBER})\s*+(%?+)\s*+")


def _parse(text: str | float, units: dict[str, int], kind: str, example: str) -> Decimal:
    """Returns the value of `text` in the base unit of `units`."""
    match = _QUANTITY.fullmatch(str(text)) if not isinstance(text, bool) else None
    expected = f"a {kind} with a unit ({', '.join(units)}), such as {example}"
    if match is None:
        raise FlowsweepError(f'"{text}" is not a {kind}', found=f'"{text}"', expected=expected)
    number, unit = match.groups()
    if not unit:
        raise FlowsweepError(f'"{text}" has no unit', found=f'"{text}"', expected=expected)
    # Wrong case is accepted only if no other unit could be meant.
    near = [known for known in units if known.lower() == unit.lower()]
    if unit not in units and len(near) == 1:
        unit = near[0]
    if unit not in units:
        meant = _MEANT.get(unit)
        raise FlowsweepError(
            f'"{unit}" is not a unit of a {kind}',
            found=f'"{text}"',
            expected=expected,
            remedy=f'write "{number}{meant}"' if meant in units else None,
        )
    value: Decimal | None
    try:
        value = Decimal(number) * units[unit]
    except ArithmeticError:
        value = None
    if value is None or abs(value) > MOST:
        raise FlowsweepError(
            f'"{text}" is beyond every {kind}', found=f'"{text}"', expected=expected
        )
    return value


def parse_time(text: str | float) -> int:
    """Returns a time such as "16ms" in nanoseconds, rounded to the nearest."""
    return round(_parse(text, TIME_UNITS, "time", "16ms"))


def parse_rate(text: str | float) -> float:
    """Returns a rate such as "100Mbit/s" in bit/s."""
    return float(_parse(text, RATE_UNITS, "rate", "100Mbit/s"))


def parse_size(text: str | float) -> int:
    """Returns a size such as "256KiB" in bytes, rounded to the nearest."""
    return round(_parse(text, SIZE_UNITS, "size", "256KiB"))


def parse_fraction(text: str | float) -> float:
    """Returns a share such as "1%" or 0.01 as a number from 0 to 1."""
    match = _FRACTION.fullmatch(str(text))
    value = None
    if match is not None and not isinstance(text, bool):
        value = float(match.group(1)) / (100.0 if match.group(2) else 1.0)
    if value is None or value > 1.0:
        raise FlowsweepError(
            f'"{text}" is not a share',
            found=f'"{text}"',
            expected="a percentage such as 1% or a number from 0 to 1",
        )
    return value


def _format(value: float, units: dict[str, int], names: tuple[str, ...]) -> str:
    """Writes `value` (base units) in the largest unit of `names` that keeps it at or above 1."""
    chosen = names[0]
    for name in names:
        if abs(value) >= units[name]:
            chosen = name
    # 6 digits keep every value that people write.
    return f"{value / units[chosen]:.6g}{chosen}"


def format_time(ns: float) -> str:
    """Writes nanoseconds as text that `parse_time` reads back: "16ms"."""
    return _format(ns, TIME_UNITS, ("ns", "us", "ms", "s"))


def format_rate(bit_s: float) -> str:
    """Writes a rate in bit/s as text that `parse_rate` reads back."""
    return _format(bit_s, RATE_UNITS, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"))


def format_size(size: float) -> str:
    """Writes bytes with a binary prefix if they are a multiple of 1 KiB, else a decimal one."""
    if size >= 2**10 and size % 2**10 == 0:
        return _format(size, SIZE_UNITS, ("B", "KiB", "MiB", "GiB"))
    return _format(size, SIZE_UNITS, ("B", "kB", "MB", "GB"))


def percent(share: float) -> str:
    """Writes a share in percent; never 0 for a share above 0, nor 100 for a share below 1."""
    if share == 0:
        return "0 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"


def counted(number: int, noun: str) -> str:
    """Writes `1 packet`, `1,200 packets`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Writes a duration: 41 s, 3 min, 2 h 5 min, 1,129 days."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds >= 48 * 3600:
        return f"{seconds / 86400:,.0f} days"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
