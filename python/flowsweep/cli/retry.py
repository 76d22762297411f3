"""`flowsweep retry`: removes invalid runs, so that they are made again."""

from __future__ import annotations

import sys
from pathlib import Path

from flowsweep.cli.arguments import Parser, add_results


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    add_results(parser)
    parser.add_argument(
        "--failed", action="store_true", help="Remove runs whose program failed, too."
    )


def retry(*, directory: Path, failed: bool) -> None:
    """Remove invalid runs, so that they are made again.

    DIRECTORY is results/<experiment>; the same snakemake command then makes them. A run is invalid
    where something other than the program and the network decided its time, such as other programs
    on the same cores; its reason is in run.json. Runs that were recorded elsewhere are left alone,
    and so is what else lies in the folder of a run. Prints what was removed.

    Example: flowsweep retry results/demo && snakemake --configfile FILE
    """
    from flowsweep.errors import FlowsweepError
    from flowsweep.runs import run_records
    from flowsweep.testbed.run_folder import RunFolder, tidy_all
    from flowsweep.units import counted

    runs = directory / "runs"
    tidy_all(runs)
    statuses = {"invalid", "failed"} if failed else {"invalid"}
    removed = run_records.with_status(runs, statuses)
    for name in removed:
        try:
            RunFolder(runs / name).remove()
        except OSError as error:
            raise FlowsweepError(
                f"{runs / name}: cannot be removed",
                found=error.strerror,
                expected="a folder that this user may change",
            ) from None
        print(name)
    what = "invalid or failed run" if failed else "invalid run"
    then = "; the same snakemake command makes them anew" if removed else ""
    print(f"{counted(len(removed), what)} removed{then}", file=sys.stderr)
