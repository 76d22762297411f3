"""Writes the figures of a report as files for a publication."""

from __future__ import annotations

import html
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsweep.files.outputs import explaining, write_file
from flowsweep.render import theme

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import polars as pl
    from pypdf.generic import DictionaryObject

#: vl-convert treats a pixel of the picture as a point; an inch has 96 pixels and 72 points.
SCALE = 72 / 96
PRINT_PPI = 300
#: Formats of a picture, by file extension.
PICTURES = ("svg", "pdf", "png")
#: Attributes that the page's script and screen readers need, and a file does not.
_PAGE_ONLY = re.compile(r' (?:data-[a-z]+|role|aria-[a-z]+|class)="[^"]*"')
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True)
class Drawn:
    """A figure of a page.

    Attributes:
        name: Name of its query and of its files.
        title: Number, heading and caption, in plain text.
        svg: Its picture, whose colours are CSS variables.
    """

    name: str
    title: str
    svg: str


def write(
    figures: Sequence[Drawn],
    rows: Callable[[str], pl.DataFrame],
    folder: Path,
    width_mm: float,
) -> list[Path]:
    """Writes NAME.svg, NAME.pdf, NAME.png (300 dpi), NAME.csv and NAME.txt for each figure.

    The PDF embeds its fonts. The picture has the light theme and is `width_mm` wide.

    Args:
        figures: The figures of the page.
        rows: Answers a query: all rows behind a figure.
        folder: The target folder; created if missing.
        width_mm: Width of a picture: 88 is one column of most journals, 180 two.

    Returns:
        The paths of the PDF files.
    """
    made = []
    with explaining(f"cannot write figures to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        for figure in figures:
            files: dict[str, bytes | str] = {
                **{suffix: encode(figure.svg, suffix, width_mm) for suffix in PICTURES},
                "csv": rows(figure.name).write_csv(),
                "txt": figure.title + "\n",
            }
            for suffix, content in files.items():
                write_file(folder / f"{figure.name}.{suffix}", content)
            made.append(folder / f"{figure.name}.pdf")
    return made


def encode(svg: str, suffix: str, width_mm: float) -> bytes | str:
    """Converts a picture of a page to a file's content, in the light theme, `width_mm` wide.

    Args:
        svg: The picture.
        suffix: One of `PICTURES`.
        width_mm: Its width on paper.
    """
    import vl_convert

    if suffix == "pdf":
        return _reorder_pdf(vl_convert.svg_to_pdf(_standalone(svg, width_mm * SCALE)))
    picture = _standalone(svg, width_mm)
    return picture if suffix == "svg" else vl_convert.svg_to_png(picture, SCALE, PRINT_PPI)


def _reorder_pdf(pdf: bytes) -> bytes:
    """Writes the objects of a PDF in a fixed order, because vl-convert orders fonts at random."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    for page in PdfReader(io.BytesIO(pdf)).pages:
        _sort_resources(page)
        writer.add_page(page)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def _sort_resources(holder: DictionaryObject) -> None:
    """Sorts the resources of a page or of a form in it, such as fonts, by name."""
    from pypdf.generic import DictionaryObject

    for kind, named in holder.get("/Resources", DictionaryObject()).get_object().items():
        entries = named.get_object()
        if not isinstance(entries, DictionaryObject):
            continue
        in_order = sorted(entries.items())
        entries.clear()
        entries.update(in_order)
        if kind == "/XObject":
            for form in entries.values():
                _sort_resources(form.get_object())


def _standalone(svg: str, width_mm: float) -> str:
    """Returns a page's picture as a standalone file: light colours, size in millimetres."""
    colours = theme.colours(dark=False)
    text = re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: colours[found[1]], svg)
    text = _PAGE_ONLY.sub("", text)

    def size(found: re.Match[str]) -> str:
        width, height = float(found[1]), float(found[2])
        return f'width="{width_mm:g}mm" height="{width_mm * height / width:.3f}mm"'

    return _SIZE.sub(size, text, count=1)


def title(number: int, heading: str, caption: str) -> str:
    """Returns a figure's plain text: `Figure 3. Completion time against RTT. Points: ...`."""
    words = re.sub(r"<[^>]+>", "", caption)
    return html.unescape(f"Figure {number}. {heading}. {words}").strip()
