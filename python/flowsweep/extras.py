"""Packages that only a part of flowsweep needs, and the extras that install them.

`pip install flowsweep` gives the parser, the readers and `flowsweep show`.
"""

from __future__ import annotations

from flowsweep.errors import FlowsweepError

#: Modules that an extra installs, with the name of their package and the extra.
MODULES = {
    "jinja2": ("jinja2", "report"),
    "markupsafe": ("jinja2", "report"),
    "numpy": ("numpy", "report"),
    "pydantic": ("pydantic", "report"),
    "pydantic_core": ("pydantic", "report"),
    "pypdf": ("pypdf", "report"),
    "vl_convert": ("vl-convert-python", "report"),
    "yaml": ("pyyaml", "report"),
    "mpi4py": ("mpi4py", "sweep"),
    "snakemake": ("snakemake", "sweep"),
}
#: Commands that need the larger extra, even if the first missing package is in the smaller one.
SWEEP_COMMANDS = frozenset({"plan", "run", "retry", "testbed"})


def explain_missing(failure: ModuleNotFoundError, command: str | None) -> FlowsweepError | None:
    """Returns the message for a module that an extra installs; None for any other module.

    Args:
        failure: What the import raised.
        command: The subcommand that needs the module, such as `report`; None in a library call.
    """
    known = MODULES.get((failure.name or "").partition(".")[0])
    if known is None:
        return None
    package, extra = known
    extra = "sweep" if command in SWEEP_COMMANDS else extra
    return FlowsweepError(
        f"{f'flowsweep {command}' if command else 'flowsweep'}: a Python package is not installed",
        found=f"no package {package}",
        expected=f"flowsweep with the extra `{extra}`",
        remedy=f"pip install 'flowsweep[{extra}]'",
    )
