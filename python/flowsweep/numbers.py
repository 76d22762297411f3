"""Formats numbers in the same way throughout the report.

Three significant figures for estimates, a comma for thousands, a space before the unit.
"""

from __future__ import annotations

import math

MINUS = "−"  # noqa: RUF001 - a minus as wide as a plus
NONE = "–"  # noqa: RUF001 - no value, or not known
#: How a table for people shows true and false.
TRUTH = {True: "yes", False: "no", None: NONE}
TIMES = "×"  # noqa: RUF001
EXACT_COUNT = 9_999
#: Smaller values are written as powers of ten.
TINY = 1e-5
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def estimate(value: float | None, digits: int = 3) -> str:
    """Writes three significant figures with trailing zeros: 165, 4.20; powers of ten if tiny."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    if abs(value) < TINY:
        return _spell_power(f"{value:.{digits - 1}e}")
    text = f"{value:,.{decimals(value, digits)}f}"
    return text.replace("-", MINUS)


def tick(value: float) -> str:
    """Writes the number at a tick of an axis: 1,000, 0.5; tiny ones as powers of ten."""
    return _spell_power(f"{value:,.12g}")


def _spell_power(text: str) -> str:
    """Writes a number such as `1.5e-07` with a power of ten."""
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa.replace("-", MINUS)
    if not exponent:
        return mantissa
    power = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return power if mantissa == "1" else f"{mantissa} {TIMES} {power}"


def decimals(value: float, digits: int = 3) -> int:
    """Returns the decimal places that show `digits` significant figures of `value`."""
    if value == 0 or not math.isfinite(value):
        return 0
    rounded = float(f"{abs(value):.{digits - 1}e}")
    return max(digits - 1 - math.floor(math.log10(rounded)), 0)


def fixed(value: float | None, places: int) -> str:
    """Writes a number with the same decimal places as the rest of its column."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:,.{places}f}".replace("-", MINUS)


#: Smaller rates are not written in Mbit/s.
SMALL_MBIT_S = 1e-3
_RATES = ((1e3, "Gbit/s"), (1.0, "Mbit/s"), (1e-3, "kbit/s"), (1e-6, "bit/s"))


def rate(mbit_s: float | None) -> str:
    """Writes a rate in the largest unit that leaves a digit before the point: 61.6 kbit/s."""
    if mbit_s is None or not math.isfinite(mbit_s):
        return NONE
    if mbit_s == 0:
        return "0"
    if mbit_s < 1e-6:
        return "< 1 bit/s"
    size, unit = next(one for one in _RATES if mbit_s >= 0.9995 * one[0] or one == _RATES[-1])
    return f"{estimate(mbit_s / size)} {unit}"


def column(values: list[float | None], digits: int = 3) -> list[str]:
    """Writes all values with the decimals that the median needs for `digits` figures.

    A larger value that would get more than `digits + 2` figures has its own number of decimals, and
    so has a smaller one that would become 0.
    """
    known = sorted(abs(value) for value in values if value)
    places = decimals(known[len(known) // 2], digits) if known else 0
    return [
        estimate(value, digits)
        if value and not decimals(value, 1) <= places <= decimals(value, digits + 2)
        else fixed(value, places)
        for value in values
    ]


def interval(low: float | None, high: float | None, *, brief: bool = False) -> str:
    """Writes `[124, 231]`; an open end in words, or as one word if `brief`."""

    def end(value: float | None, side: str) -> str:
        if value is not None:
            return estimate(value)
        return "open" if brief else f"not bounded {side} by this sweep"

    return f"[{end(low, 'below')}, {end(high, 'above')}]"


def count(value: float | None) -> str:
    """Writes a count exactly up to 9,999, then as 12.3 k and 4.56 M."""
    if value is None:
        return NONE
    if value <= EXACT_COUNT:
        return f"{value:,.0f}"
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{estimate(value / size)} {unit}"
    raise AssertionError


def share(value: float | None) -> str:
    """Writes `0.4 %`; never 0 for a share above 0, nor 100 for a share below 1."""
    if value is None:
        return NONE
    percent = value * 100
    if percent == 0:
        return "0 %"
    if percent < 0.1:
        return "< 0.1 %"
    if 99.95 <= percent < 100:
        return "> 99.9 %"
    places = 0 if 9.95 <= percent < 99.5 or percent >= 100 else 1
    return f"{percent:.{places}f} %"


def shares(low: float, high: float) -> str:
    """Writes `0.4 % to 3 %`, or one number if both look the same."""
    ends = share(low), share(high)
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def change(value: float | None) -> str:
    """Writes a change against the baseline: `+3.4 %`, `-12 %`, `0 %`."""
    if value is None:
        return NONE
    percent = value * 100
    if abs(percent) < 0.05:
        return "0 %"
    sign = "+" if percent > 0 else MINUS
    return f"{sign}{abs(percent):.{0 if abs(percent) >= 9.95 else 1}f} %"


def plain(value: float | None) -> str:
    """Writes a configured number as short as possible: 16, 0.5, 1,000."""
    if value is None:
        return NONE
    return f"{value:,.6f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"


def chosen_share(value: float) -> str:
    """Writes a configured share, such as the loss of a link: `0.01 %`."""
    return f"{tick(100 * value)} %"


def size(value: float | None, digits: int = 3) -> str:
    """Writes bytes in KiB and MiB if they divide evenly (buffers), else in kB and MB."""
    if value is None:
        return NONE
    for unit, power in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        # Byte counts of traffic that divide evenly by chance, such as 10^10, have large quotients.
        if digits == 3 and power <= value < 10_000 * power and value % power == 0:
            return f"{value / power:,.0f} {unit}"
    for unit, power in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value >= power:
            return f"{estimate(value / power, digits)} {unit}"
    return f"{value:,.0f} B"


def seconds(value: float | None) -> str:
    """Writes a duration in the unit that suits it."""
    if value is None:
        return NONE
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1 or unit == "µs":
            return f"{estimate(value * factor)} {unit}"
    raise AssertionError


def width(seconds: float) -> str:
    """Writes a step or bin width in the unit that makes it short: 10 ms, 1 s."""
    unit, factor = next(
        (unit, factor)
        for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6))
        if seconds * factor >= 1 or unit == "µs"
    )
    return f"{plain(round(seconds * factor, 6))} {unit}"


def quantity(value: float, unit: str, digits: int = 3) -> str:
    """Writes a value with its unit: bytes in the unit that suits, a share (no unit) in percent."""
    if unit == "bytes":
        return size(value, digits)
    return f"{estimate(value, digits)} {unit}" if unit else f"{estimate(value * 100, digits)} %"


def plural(number: int, noun: str, many: str | None = None) -> str:
    """Writes `1 run`, `3 runs`."""
    return f"{count(number)} {noun if number == 1 else many or noun + 's'}"
