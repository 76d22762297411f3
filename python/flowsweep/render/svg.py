"""An Altair chart to a static SVG that may stand inside the page.

Ids are prefixed with the figure's name (several SVGs share one page), numbers cut to
two decimals, ARIA left out (the table under the figure serves readers).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from flowsweep.render import theme

if TYPE_CHECKING:
    from altair import Chart as PlainChart
    from altair import ConcatChart, HConcatChart, LayerChart, VConcatChart

    Chart = PlainChart | LayerChart | ConcatChart | HConcatChart | VConcatChart

VEGA_LITE = "6.4"
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_NOISE = re.compile(
    r' (?:aria-[a-z]+|role|pointer-events)="[^"]*"| class="(?!marks)[^"]*"|'
    r'<path class="(?:background|foreground)"[^>]*d="M0,0h0v0h0Z"[^>]*/>'
)
#: All but what XML 1.0 calls a Char.
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What becomes of a value that has no place on its scale, such as 0 on a log axis.
_NO_PLACE = re.compile(r'="[^"]*\b(?:NaN|Infinity|undefined)\b')


def _drawable(value: Any) -> Any:
    """A specification whose texts an SVG can hold: a control character would abort the process."""
    if isinstance(value, str):
        return _NO_XML.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_drawable(key): _drawable(one) for key, one in value.items()}
    return [_drawable(one) for one in value] if isinstance(value, list) else value


def _two_decimals(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def is_broken(text: str) -> bool:
    """Whether a browser could not draw part of an SVG: some place in it is no number."""
    return _NO_PLACE.search(text) is not None


@cache
def _loaded() -> None:
    import altair as alt

    alt.data_transformers.disable_max_rows()


def render(chart: Chart, name: str) -> str:
    """The SVG element, scalable, without a fixed size in pixels.

    Args:
        chart: Colours are CSS variables of `theme`.
        name: Prefix of the ids inside.
    """
    import vl_convert

    _loaded()
    # Validation takes most of the time of a figure and guards against our own mistakes only:
    # the tests do it.
    spec: dict[str, Any] = _drawable(chart.to_dict(validate=False))
    spec["config"] = theme.config()
    text: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    text = _NOISE.sub("", text)
    text = re.sub(r"<[^>]+>", lambda tag: _LONG_NUMBER.sub(_two_decimals, tag[0]), text)
    # Ids count on over all charts of a process: numbered anew, the bytes stay the same.
    for number, old in enumerate(re.findall(r'\bid="([^"]+)"', text)):
        text = text.replace(f'id="{old}"', f'id="{name}-{number}"')
        text = text.replace(f"url(#{old})", f"url(#{name}-{number})")
    text = text.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "").replace(
        ' version="1.1"', ""
    )
    return text.replace(
        "<svg ",
        f'<svg role="img" aria-labelledby="{name}-title" aria-describedby="{name}-caption" ',
        1,
    )
