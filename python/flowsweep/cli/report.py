"""`flowsweep report`: makes the report of an experiment from its tables."""

from __future__ import annotations

import sys
from pathlib import Path

from flowsweep.cli.arguments import Parser, add_against, add_results, add_width


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    add_results(parser, about="Results: results/<experiment>. Or captures: a file, or a folder.")
    add_against(parser)
    parser.add_argument(
        "--live",
        action="store_true",
        help="Write DIRECTORY/live.html too, a page with DuckDB inside that answers any question.",
    )
    parser.add_argument(
        "--figures",
        metavar="FOLDER",
        type=Path,
        help="Write each figure to FOLDER too, for a publication: SVG, PDF, PNG, its rows as CSV, "
        "and its caption.",
    )
    add_width(parser, "--figure-width", "these figures")


def report(
    *,
    directory: Path,
    against: Path | None,
    live: bool = False,
    figures: Path | None = None,
    figure_width: float = 180.0,
) -> int:
    """Write DIRECTORY/report.html: what network the application needs, with the evidence.

    DIRECTORY is results/<experiment>, with tables/ inside. The report is one file that works
    without a network. Prints its path. The rows of all its figures are in
    DIRECTORY/<experiment>.duckdb, for DuckDB.

    Example: flowsweep report results/demo

    With a capture, or a folder with <host>.pcap of each host or with Zeek's logs: they are parsed
    into results/<name> first. Hosts whose captures overlap in time and share an address are one
    run. A file that is no capture is left out, and the exit code is 1.

    Example: flowsweep report trace.pcap

    With --against: a section compares its points with those of another experiment, such as one
    before a change, on another cluster, or with another congestion control.

    Example: flowsweep report results/grid --against results/cluster

    With --live: DIRECTORY/live.html holds the rows of all figures, what was kept of each run, and
    DuckDB-WASM. It needs no network; `make live` brings what it needs once.

    Example: flowsweep report results/demo --live

    With --figures: one file of each kind for each figure, and their paths are printed.

    Example: flowsweep report results/demo --figures figures --figure-width 88
    """
    from flowsweep.cli import captures_alone
    from flowsweep.render import exported, page, svg
    from flowsweep.warehouse import Warehouse

    # Reports what is missing before the work starts.
    svg.check_room()
    if live:
        from flowsweep.render.live import assets

        assets.find()
    if against:
        Warehouse(against)
    status = 0
    if recordings := captures_alone.find(directory):
        directory, status = captures_alone.write_results(directory, recordings)
    path, made = page.write(directory, against)
    if made.first:
        print(made.first, file=sys.stderr)
    for contradiction in made.contradictions:
        print(f"warning: the report contradicts its tables: {contradiction}", file=sys.stderr)
    _tell_invalid(directory)
    print(path)
    if figures:
        rows = Warehouse(directory, against=against).rows
        for file in exported.write(made.figures, rows, figures, figure_width):
            print(file)
    if live:
        _write_live(directory)
    return status


def _write_live(directory: Path) -> None:
    """Writes the page for queries, prints its path, and says what it leaves out."""
    from flowsweep.render.live import write

    path, made = write(directory)
    if made.left_out:
        print(f"note: too large for it: {', '.join(made.left_out)}", file=sys.stderr)
    print(path)


def _tell_invalid(directory: Path) -> None:
    """Prints how many runs are invalid, with one reason, and how to repeat them."""
    from flowsweep.experiment import results
    from flowsweep.units import counted
    from flowsweep.warehouse import Warehouse

    if not results.has_own_runs(directory):
        return
    invalid = [
        row
        for row in Warehouse(directory).rows("run_table").iter_rows(named=True)
        if row["status"] == "invalid" and not row["is_warmup"]
    ]
    if not invalid:
        return
    run, reason = invalid[0]["run"], invalid[0]["reason"]
    verb = "does" if len(invalid) == 1 else "do"
    print(
        f"note: {counted(len(invalid), 'run')} {verb} not count, being invalid; {run}: {reason}\n"
        f"  remedy    when that is over: flowsweep retry {directory}, and the sweep again",
        file=sys.stderr,
    )
