"""`flowsweep sequence`: draws the sequence numbers of one connection over time."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

from flowsweep.cli.arguments import (
    Parser,
    add_files,
    add_interpretation,
    add_output,
    add_width,
    read_number,
    read_time,
)
from flowsweep.errors import FlowsweepError


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    add_files(parser)
    add_output(parser, "File to write: .svg, .pdf or .png.")
    parser.add_argument(
        "--connection",
        metavar="N",
        type=read_number,
        help="Its number, as `flowsweep show` prints it (conn); else that with the most payload.",
    )
    parser.add_argument(
        "--from",
        dest="begin_ns",
        metavar="TIME",
        type=read_time,
        default="0s",
        help="Where to begin, such as 1.5s, from the connection's first packet. Default: there.",
    )
    parser.add_argument(
        "--to",
        dest="end_ns",
        metavar="TIME",
        type=read_time,
        help="Where to end. Default: at its last packet.",
    )
    add_width(parser, "--width", "the picture")
    add_interpretation(parser)


def sequence(
    *,
    files: list[Path],
    output: Path,
    connection: int | None,
    begin_ns: int,
    end_ns: int | None,
    width: float,
    **interpretation: Any,
) -> int:
    """Draw the sequence numbers of a TCP connection over time, as tcptrace and Wireshark do.

    A panel for each side that sent payload: segments with new data, segments that were sent
    again, segments that fill a hole (out of order, or lost before the capture point), what the
    other side had acknowledged, and the end of its window, all as seen at the capture point.
    Several FILEs are one capture. Prints how many segments of each kind there are.

    Example: flowsweep sequence trace.pcap --connection 3 --from 1s --to 2s -o connection.png
    """
    from flowsweep.analysis import sequence as analysis
    from flowsweep.captures import DamagedCaptureWarning
    from flowsweep.files.outputs import write_file
    from flowsweep.parsing import Settings
    from flowsweep.render import exported, svg
    from flowsweep.render import sequence as drawing

    suffix = output.suffix.removeprefix(".").lower()
    if suffix not in exported.PICTURES:
        raise FlowsweepError(
            f"{output}: the name does not say which picture to write",
            found=f'"{output.suffix}" at its end',
            expected=", ".join(f".{one}" for one in exported.PICTURES),
        )
    svg.check_room()
    with warnings.catch_warnings(record=True) as damage:
        warnings.simplefilter("always", DamagedCaptureWarning)
        found = analysis.read(files, connection, Settings(**interpretation))
    last_ns = found.last_ns
    chart = drawing.draw(found, begin_ns, last_ns if end_ns is None else end_ns)
    if chart is None:
        raise FlowsweepError(
            f"connection {found.number} has no segment with payload in that time",
            found=f"--from and --to of a connection that lasts {last_ns / 1e9:g} s",
            remedy="choose another stretch, or another connection: --connection N",
        )
    picture = svg.render(chart, "sequence")
    write_file(output, exported.encode(picture, suffix, width))
    print(drawing.describe(found))
    print(f"-> {output}", file=sys.stderr)
    texts = dict.fromkeys(str(one.message) for one in damage)
    for text in texts:
        print(f"warning: {text}", file=sys.stderr)
    return int(bool(texts))
