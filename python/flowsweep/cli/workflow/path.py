"""`flowsweep workflow path`: prints where the workflow and the bundled experiments are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.errors import FlowsweepError

if TYPE_CHECKING:
    from flowsweep.cli.arguments import Parser


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument(
        "name",
        metavar="EXPERIMENT",
        nargs="?",
        help="Print the file of this experiment instead, such as demo or captured/demo.",
    )


def path(*, name: str | None) -> None:
    """Print the path of the Snakefile, or of an experiment that comes with flowsweep.

    Example: snakemake --snakefile "$(flowsweep workflow path)" --configfile mine/experiment.yaml
    """
    from flowsweep import content

    print(content.snakefile() if name is None else _experiment(name))


def _experiment(name: str) -> Path:
    from flowsweep import content

    folder = content.folder("workflows") / "experiments"
    known = sorted(
        str(file.relative_to(folder).with_suffix(""))
        for pattern in ("*.yaml", "captured/*.yaml")
        for file in folder.glob(pattern)
    )
    if name not in known:
        raise FlowsweepError(
            f"no experiment is called {name}", expected=f"one of {', '.join(known)}"
        )
    return folder / f"{name}.yaml"
