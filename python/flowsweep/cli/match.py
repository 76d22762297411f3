"""`flowsweep match`: matches packets between the captures of several hosts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from flowsweep import printing
from flowsweep.cli import progress_line
from flowsweep.cli.arguments import Parser, add_format, add_output, add_window
from flowsweep.errors import FlowsweepError
from flowsweep.parsing import DamagedCaptureError
from flowsweep.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flowsweep._parsers import MatchSummary
    from flowsweep.matching.hosts import Host
    from flowsweep.matching.sweep import MatchedRun

#: Fates that are columns of the printed table.
SHOWN = ("delivered", "lost", "not_captured", "duplicated", "unknown")
#: Columns for a run of a sweep: counts of fates, and delays between the sites.
RUN_FATES = ("delivered", "lost", "unknown")
RUN_DELAYS = {"delay_min_ns": "least (ms)", "delay_p50_ns": "median", "delay_p99_ns": "99 %"}
#: Text for each method of the table `clocks`, except the usual one, packets both ways.
METHODS = {
    "same_kernel": "hosts of one kernel",
    "packets_and_readings": "agent's readings used",
    "one_way": "packets went one way only",
    "nothing": "no packets lead from the reference to this host",
    "inconsistent": "its packets contradict each other or those of other hosts",
}
#: Columns of the table of delays, and their headings.
DELAYS = {
    "delay_min_ns": "least (ms)",
    "delay_p50_ns": "median",
    "delay_p99_ns": "99 %",
    "queue_p50_ns": "queueing (ms): median",
    "queue_p99_ns": "99 %",
}


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        type=Path,
        help="The folder of a run or of an experiment, or a capture of each host, named after "
        "the host.",
    )
    add_output(parser, "Folder for <table>.parquet, of an experiment in run=<run>.")
    parser.add_argument(
        "--address",
        dest="stated",
        metavar="HOST=ADDRESS",
        action="append",
        default=[],
        help="An address of a host; may be given several times. Default: those in run.json, else "
        "the address that is in most packets of the host's capture.",
    )
    add_window(parser)
    add_format(parser, "text", "json", about="How the counts are printed.")


def match(
    *,
    paths: list[Path],
    output: Path,
    stated: list[str],
    window_ns: int,
    window_packets: int,
    output_format: str,
) -> int:
    """Find every packet where it was sent and where it arrived, and what became of it.

    PATH is the folder of one run, with captures <host>.pcap and so on, or a capture of each host,
    or results/<experiment>: then each of its runs is matched, and each has a line with the delays
    between its sites.

    The table fates has a row for each IP packet: delivered, lost, not captured (at one of the two
    hosts), duplicated, unknown (the captures cannot show it), or outside (its other end was not
    captured). Packets are matched by addresses, ports, IP identification, lengths, TCP sequence
    numbers and timestamps, and the first bytes of UDP payload: 96 bytes of each packet are enough.
    Segments that an interface cut or merged (TSO, GRO) are matched by the bytes that they carry.
    Addresses and ports that a router translates (NAT) are replaced by the host's own.

    The table clocks has the offset, drift and steps of each host's clock, from the packets and
    from the readings in manifests; one_way has the delay of each delivered packet by corrected
    clocks. All other times are those of each host's own clock.

    Exit code 1: no packet was found at two hosts, or a capture is damaged.

    Example: flowsweep match results/demo/runs/nqueens-baseline-r1 --output matched
    """
    from flowsweep.matching import hosts, sweep

    addresses = hosts.parse_addresses(stated)
    window = Window(window_ns=window_ns, window_packets=window_packets)
    runs = sweep.find_runs(paths[0]) if len(paths) == 1 else None
    if runs is not None:
        matched = sweep.match_runs(runs, output, addresses, **window)
        return _end_sweep(paths[0], output, matched, output_format)
    return _match_hosts(hosts.find(paths, addresses), paths[0], output, window, output_format)


class Window(TypedDict):
    """How far apart the two sightings of a packet may be."""

    window_ns: int
    window_packets: int


def _match_hosts(
    hosts: list[Host], place: Path, output: Path, window: Window, output_format: str
) -> int:
    """Matches the captures of hosts and prints the result; returns 0, or raises an error.

    Args:
        hosts: The hosts and their captures.
        place: The path that errors name.
        output: Folder of the tables.
        window: How far apart two sightings may be.
        output_format: How the counts are printed.
    """
    from flowsweep.matching import delays, tables

    # Captures are read twice, three times where interfaces cut or merged segments.
    size = progress_line.bytes_of([path for host in hosts for path in host.captures])
    progress = progress_line.show(2 * size, 3 * size) if size else progress_line.show(None)
    summary = tables.write(hosts, output, progress=progress, **window)
    progress_line.clear()
    delays_of_paths = delays.summarise(output)
    if output_format == "json":
        addresses = {host.name: host.addresses for host in hosts}
        about = {"addresses": addresses, **summary, "delays": delays_of_paths}
        printing.exact(json.dumps(about, indent=2) + "\n")
    else:
        _print(summary, delays_of_paths)
    records = counted(sum(summary["records"].values()), "packet")
    print(f"{counted(len(hosts), 'host')}, {records} -> {output}", file=sys.stderr)
    _raise_damage(summary)
    _refuse_strangers(summary, hosts, place)
    return 0


def _raise_damage(summary: MatchSummary) -> None:
    """Raises the first damage of the captures, after it has printed all others."""
    damage = [DamagedCaptureError(damaged) for damaged in summary["damage"]]
    for error in damage[1:]:
        print(f"error: {error}", file=sys.stderr)
    if damage:
        raise damage[0]


def _refuse_strangers(summary: MatchSummary, hosts: list[Host], place: Path) -> None:
    """Raises if no packet was found at two hosts."""
    if any(path["fates"].get("delivered") for path in summary["paths"]):
        return
    names = ", ".join(f"{host.name} {' '.join(host.addresses)}" for host in hosts)
    raise FlowsweepError(
        f"{place}: no packet was found at two hosts",
        found=f"hosts {names}",
        expected="captures of one run, made at the same time, on clocks that differ by "
        "seconds at most where no early packets show more",
        remedy="check that the captures are of one run; name addresses: --address HOST=ADDRESS",
        exit_code=1,
    )


def _end_sweep(
    folder: Path,
    output: Path,
    matched: Iterator[MatchedRun | FlowsweepError],
    output_format: str,
) -> int:
    """Matches an experiment's runs and prints a line for each; returns 1 if one has an error."""
    runs: list[MatchedRun] = []
    failed = 0
    for run in matched:
        if isinstance(run, FlowsweepError):
            failed += 1
            print(f"error: {run}", file=sys.stderr)
            continue
        runs.append(run)
        for damage in run.summary["damage"]:
            failed += 1
            print(f"error: {DamagedCaptureError(damage)}", file=sys.stderr)
    if not runs and not failed:
        raise FlowsweepError(
            f"{folder}: no run has captures",
            found=f"folders in {folder / 'runs'} without captures",
            expected="<host>.pcap of two hosts or more in each",
        )
    if output_format == "json":
        about = {run.name: {**run.summary, "delays": run.delays} for run in runs}
        printing.exact(json.dumps({"runs": about}, indent=2) + "\n")
    else:
        _print_runs(runs)
    print(f"{counted(len(runs), 'run')} -> {output}", file=sys.stderr)
    return 1 if failed else 0


def _print_runs(runs: list[MatchedRun]) -> None:
    rows = []
    for run in runs:
        fates = [path["fates"] for path in run.summary["paths"]]
        counts = [f"{sum(path.get(fate, 0) for path in fates):,}" for fate in RUN_FATES]
        delays = [_in_ms(run.between[name]) if run.between else "-" for name in RUN_DELAYS]
        rows.append([run.name, *counts, *delays])
    _print_table(["run", *RUN_FATES, *RUN_DELAYS.values()], rows, names=1)


def _print(summary: MatchSummary, delays: list[dict[str, Any]]) -> None:
    """Prints a line for each path, its delays, each clock, and packets that are on no path."""
    fates = [
        [
            path["sender"],
            path["receiver"],
            *(f"{path['fates'].get(fate, 0):,}" for fate in SHOWN),
            f"{path['reordered']:,}",
            f"{path['retransmissions']:,}",
        ]
        for path in summary["paths"]
    ]
    _print_table(["from", "to", *SHOWN, "reordered", "resent"], fates)
    if delays:
        print()
        rows = [
            [path["sender"], path["receiver"], *(_in_ms(path[name]) for name in DELAYS)]
            for path in delays
        ]
        _print_table(["from", "to", *DELAYS.values()], rows)
        print()
    _print_clocks(summary)
    for pair in summary["translations"]:
        print(f"{pair['seen']} in the capture of {pair['host']} is {pair['own']}: translated (NAT)")
    for host in summary["out_of_order"]:
        print(
            f"the capture of {host} goes back in time: packets that come too late are unknown"
            " (reordercap sorts a file)"
        )
    if summary["outside"]:
        print(f"{counted(summary['outside'], 'packet')} from or to a host without a capture")
    if without := sum(summary["without_ip"].values()):
        print(f"{counted(without, 'record')} without a readable IP packet")


def _print_table(head: list[str], rows: list[list[str]], names: int = 2) -> None:
    """Prints rows below their head; all columns after the first `names` are numbers."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        cells = [
            cell.ljust(width) if place < names else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def _in_ms(nanoseconds: int | None) -> str:
    return "-" if nanoseconds is None else f"{nanoseconds / 1e6:,.3f}"


def _print_clocks(summary: MatchSummary) -> None:
    """Prints a line for each clock between two steps, and for each path with negative delays."""
    for clock in summary["clocks"]:
        about = f"clock of {clock['host']}: "
        if clock["method"] == "reference":
            continue
        if clock["offset_ns"] is None:
            about += f"not known: {METHODS[clock['method']]}"
        else:
            ahead = clock["offset_ns"]
            about += (
                f"{_in_ms(abs(ahead))} ms {'ahead of' if ahead >= 0 else 'behind'} "
                f"{clock['reference']}'s (± {_in_ms(clock['offset_error_ns'] or 0)} ms), "
                f"drift {clock['drift_ppm'] or 0.0:+.1f} ppm"
            )
            if clock["method"] != "packets":
                about += f", {METHODS[clock['method']]}"
        print(about)
    for path in summary["paths"]:
        if path["negative_delays"]:
            negative = counted(path["negative_delays"], "packet")
            print(f"{negative} from {path['sender']} to {path['receiver']} with a delay below 0")
