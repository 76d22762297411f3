"""The command line of one command: its parser, its help, and arguments that commands share.

It uses `argparse` because larger libraries double the start-up time, which matters for small
captures.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from flowsweep import defaults
from flowsweep.errors import FlowsweepError
from flowsweep.units import format_time, parse_size, parse_time

HELP = ("-h", "--help")
#: More threads are of no use, and the system refuses to start many more.
MOST_THREADS = 512
#: Maximum of packets in the order window; the parser has the same limit.
MOST_WINDOW_PACKETS = 1 << 22
#: Maximum of sightings that wait for a match; the matcher has the same limit.
MOST_WAITING = 1 << 24


class Parser(argparse.ArgumentParser):
    """Reads the arguments of one command, in any order; a wrong one raises a `FlowsweepError`.

    Args:
        program: The words that call the command, such as `flowsweep parse`.
        about: The text of its help: the docstring of its function.
    """

    #: Returns lines for the end of the help; called only to print the help.
    more: Callable[[], str] | None = None
    #: Name of the argument that takes all words after `--` unchanged.
    rest: str | None = None

    def __init__(self, program: str, about: str | None) -> None:
        super().__init__(
            prog=program,
            description=about,
            # Looking up the window width takes a twentieth of a start: only the help does it.
            formatter_class=lambda prog: _Help(prog, width=80),
            allow_abbrev=False,
            add_help=False,
        )
        # Added by hand for its place among the options in the help.
        self.add_argument(*HELP, action="store_true", help="Show this message and exit.")

    def parse(self, words: Sequence[str]) -> dict[str, object] | None:
        """Returns the value of every argument by name; None if it printed help on request.

        Raises:
            FlowsweepError: An argument is missing, unknown, or has an invalid value.
        """
        end = words.index("--") if "--" in words else len(words)
        if not set(HELP).isdisjoint(words[:end]):
            self.print_help()
            return None
        # Otherwise argparse computes the usage, for messages that are not printed.
        self.usage = self.prog
        if self.rest is not None:
            found = vars(self.parse_intermixed_args(words[:end]))
            found[self.rest] += words[end + 1 :]
        elif end < len(words):
            # The second pass of `parse_intermixed_args` no longer sees the `--`.
            found = vars(self.parse_args(words))
        else:
            found = vars(self.parse_intermixed_args(words))
        del found["help"]
        return found

    def format_help(self) -> str:
        """Returns the help, as wide as the window."""
        self.formatter_class = _Help
        more = f"\n{self.more()}\n" if self.more is not None else ""
        return super().format_help() + more

    def error(self, message: str) -> NoReturn:
        """Raises an error that is printed like any other."""
        raise FlowsweepError(f"{self.prog}: {message}", remedy=f"{self.prog} --help")


class _Help(argparse.HelpFormatter):
    """Keeps paragraphs apart, and fits them to the window."""

    def __init__(self, prog: str, width: int | None = None) -> None:
        super().__init__(prog, max_help_position=30, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        fill = super()._fill_text
        return "\n\n".join(fill(paragraph, width, indent) for paragraph in paragraphs)


def add_experiment(parser: Parser, nargs: str | None = None) -> None:
    """Adds the experiment file."""
    parser.add_argument(
        "experiment", metavar="EXPERIMENT", type=Path, nargs=nargs, help="Experiment file."
    )


def add_settings(parser: Parser) -> None:
    """Adds `--set`, a point of the sweep."""
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="AXIS=VALUE",
        help="A point other than the baseline.",
    )


def add_results(
    parser: Parser, nargs: str | None = None, about: str = "Results: results/<experiment>."
) -> None:
    """Adds the folder of an experiment's results."""
    parser.add_argument("directory", metavar="DIRECTORY", type=Path, nargs=nargs, help=about)


def add_against(parser: Parser) -> None:
    """Adds `--against`, the folder of another experiment's results."""
    parser.add_argument(
        "--against",
        metavar="DIRECTORY",
        type=Path,
        help="Results of another experiment, to compare it with point by point.",
    )


def add_files(parser: Parser) -> None:
    """Adds the captures."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=Path, help="Captures, plain or compressed."
    )


def add_format(parser: Parser, *formats: str, about: str | None = None) -> None:
    """Adds `--format`, the form of the printed answer; the first one is the default."""
    parser.add_argument(
        "--format", dest="output_format", choices=formats, default=formats[0], help=about
    )


def add_output(parser: Parser, about: str, *, required: bool = True) -> None:
    """Adds `--output`."""
    parser.add_argument("-o", "--output", metavar="PATH", type=Path, required=required, help=about)


def add_width(parser: Parser, option: str, about: str) -> None:
    """Adds the width on paper of the object that `about` names."""
    parser.add_argument(
        option,
        metavar="MM",
        type=_width,
        default=180.0,
        help=f"Width of {about} in millimetres: 88 is a column of most journals (180).",
    )


def add_checksums(parser: Parser) -> None:
    """Adds `--verify-checksums`."""
    parser.add_argument(
        "--verify-checksums",
        action="store_true",
        help="Leave packets with a wrong checksum out of all flows, and count them.",
    )


def add_interpretation(parser: Parser) -> None:
    """Adds the options that say which packets count, and for which connection."""
    add_checksums(parser)
    parser.add_argument(
        "--keep-duplicates",
        action="store_true",
        help="Count each copy of a packet, such as mirrors and bridges record, as a packet.",
    )
    parser.add_argument(
        "--by-network",
        action="store_true",
        help="Equal addresses and ports in different VLANs or virtual networks (VXLAN, Geneve, "
        "GRE and so on) are different connections.",
    )
    parser.add_argument(
        "--order-window",
        dest="order_window_ns",
        metavar="TIME",
        type=_read_with(parse_time),
        default=format_time(defaults.ORDER_WINDOW_NS),
        help="How late in the file a packet may be and still be put back in order; 0s keeps the "
        "order of the file. Default: %(default)s.",
    )
    parser.add_argument(
        "--order-window-packets",
        metavar="N",
        type=_packets,
        default=defaults.ORDER_WINDOW_PACKETS,
        help="Most packets that wait for an earlier one. Default: %(default)s.",
    )


def add_reading(parser: Parser) -> None:
    """Adds the options that say how captures are read, named like fields of `parsing.Options`."""
    parser.add_argument(
        "--bin",
        dest="bin_ns",
        metavar="TIME",
        type=_read_with(parse_time),
        default=format_time(defaults.BIN_NS),
        help="Length of a throughput bin. Default: %(default)s.",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=_read_with(parse_size),
        default=None,
        help="Memory limit, such as 4GiB. Default: three quarters of what is free.",
    )
    parser.add_argument("--packets", action="store_true", help="Write one row per packet as well.")
    add_interpretation(parser)
    parser.add_argument(
        "--threads",
        metavar="N",
        type=_threads,
        default=0,
        help="Threads; 0, the default, for one per core. The tables are the same.",
    )
    parser.add_argument(
        "--udp-timeout",
        dest="udp_timeout_ns",
        metavar="TIME",
        type=_read_with(parse_time),
        default=format_time(defaults.UDP_TIMEOUT_NS),
        help="Silence after which a flow that is not TCP ends. Default: %(default)s.",
    )


def add_window(parser: Parser) -> None:
    """Adds the options that say how long a packet waits for its other sighting."""
    parser.add_argument(
        "--window",
        dest="window_ns",
        metavar="TIME",
        type=_read_with(parse_time),
        default=format_time(defaults.MATCH_WINDOW_NS),
        help="How long a packet waits for its other sighting; longer than the longest delay. "
        "Default: %(default)s.",
    )
    parser.add_argument(
        "--window-packets",
        metavar="N",
        type=_waiting,
        default=defaults.MATCH_WINDOW_PACKETS,
        help="Most packets that wait at once, about 350 bytes each. Default: %(default)s.",
    )


def _read_with(parse: Callable[[str], int]) -> Callable[[str], int]:
    """Returns an argument type; `argparse` puts the option's name before its errors."""

    def read(text: str) -> int:
        try:
            return parse(text)
        except FlowsweepError as error:
            raise argparse.ArgumentTypeError(f"{error.what}; expected {error.expected}") from None

    return read


def _width(text: str) -> float:
    """Reads a width in millimetres."""
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,3})?", text) or not 20 <= float(text) <= 1000:
        raise FlowsweepError(
            f'"{text}" is no width of a figure',
            found=f'"{text}"',
            expected="20 to 1000, in millimetres",
        )
    return float(text)


def _threads(text: str) -> int:
    return _whole_number(text, 0, MOST_THREADS)


def _packets(text: str) -> int:
    return _whole_number(text, 1, MOST_WINDOW_PACKETS)


def _waiting(text: str) -> int:
    return _whole_number(text, 1, MOST_WAITING)


def read_number(text: str) -> int:
    """Reads a whole number from 0, such as the number of a connection."""
    return _whole_number(text, 0, (1 << 63) - 1)


def read_time(text: str) -> int:
    """Reads a time with its unit; returns ns."""
    return _read_with(parse_time)(text)


def _whole_number(text: str, least: int, most: int) -> int:
    if not re.fullmatch("[0-9]+", text) or (not text.strip("0") and least > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
    # Python refuses to convert texts of thousands of digits.
    if len(text.lstrip("0")) > len(str(most)) or int(text) > most:
        raise argparse.ArgumentTypeError(f"{text[:20]} is too many; expected at most {most}")
    return int(text)
