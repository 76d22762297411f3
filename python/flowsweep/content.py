"""Finds the content that is not Python: queries, workflow, workloads.

Researchers edit these folders at the top of the repository. A wheel carries copies of them in
`flowsweep/share`, under the same names. No other module asks whether this is a checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

from flowsweep.errors import FlowsweepError

#: The modules of the package.
PACKAGE = Path(__file__).parent
#: The copies in an installed package; `.config/flowsweep_build.py` puts them into the wheel.
SHARE = PACKAGE / "share"
#: The top of the checkout that an editable install points to.
CHECKOUT = PACKAGE.parents[1]

#: Environment variables that name another folder, and what a folder must contain to be valid.
OVERRIDES = {"reports": "FLOWSWEEP_REPORTS", "capture/workloads": "FLOWSWEEP_WORKLOADS"}
HOLDS = {
    "reports": ("models", "figures", "macros.sql"),
    "capture/workloads": ("common.py",),
    "workflows": ("rules", "experiments"),
}


def root() -> Path:
    """Returns the folder with `Snakefile`, `reports`, `workflows` and `capture/workloads`."""
    return SHARE if SHARE.is_dir() else CHECKOUT


def folder(name: str) -> Path:
    """Returns a folder of content.

    Args:
        name: `reports`, `workflows` or `capture/workloads`.

    Raises:
        FlowsweepError: The folder is missing, or the environment names one without the content.
    """
    variable = OVERRIDES.get(name)
    given = os.environ.get(variable) if variable else None
    found = Path(given) if given else root() / name
    if all((found / part).exists() for part in HOLDS[name]):
        return found
    raise FlowsweepError(
        f"the folder `{name}` was not found",
        found=f"{variable}={given}" if given else f"no such folder: {found}",
        expected=f"a folder with {', '.join(HOLDS[name])}",
        remedy=f"set {variable} to the folder `{name}` of a checkout"
        if variable
        else "install flowsweep again",
    )


def snakefile() -> Path:
    """Returns the workflow for `snakemake --snakefile`."""
    return root() / "Snakefile"


def build_remedy() -> str:
    """Returns the command that installs a missing program of flowsweep."""
    if SHARE.is_dir():
        return "pip install --force-reinstall 'flowsweep[sweep]'"
    return "make build"


def live_remedy(package: str, variable: str) -> str:
    """Returns the command that downloads the package that live.html embeds.

    Args:
        package: Name of the npm package, with its version.
        variable: Environment variable that names the folder of packages.
    """
    if SHARE.is_dir():
        return f"npm install {package}, and set {variable} to its folder node_modules"
    return "make live"


def papers() -> list[Path]:
    """Lists the files with the items of each paper that the report may compare with our numbers."""
    return sorted((folder("reports") / "papers").glob("*/items.yaml"))
