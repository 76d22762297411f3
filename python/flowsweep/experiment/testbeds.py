"""The kinds of testbed: each is a package, named here by one line.

The package of a kind has two modules. `settings` holds `Settings`, a class derived from that of
`experiment.settings`, whose fields are what an experiment file may say of it; `kind` holds `KIND`,
which makes runs (`testbed.kind.Kind`). An experiment knows the packages by name alone: what runs it
stands above it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, create_model

from flowsweep.experiment.quantities import Model

KINDS = {
    "namespaces": "flowsweep.testbed.namespaces",
    "ssh": "flowsweep.testbed.ssh",
    "slurm": "flowsweep.testbed.slurm",
}
DEFAULT = "namespaces"


def _settings(kind: str) -> type[Settings]:
    found: type[Settings] = import_module(f"{KINDS[kind]}.settings").Settings
    return found


def _combine_settings() -> type[Model]:
    """What a file may say: the settings of all kinds side by side.

    A kind ignores the settings of the others: a sweep moves from machines to namespaces by
    its `kind` alone.
    """
    fields: dict[str, Any] = {"kind": (Literal[tuple(KINDS)], DEFAULT)}
    for kind in KINDS:
        for name, field in _settings(kind).model_fields.items():
            fields.setdefault(name, (field.annotation, field))
    return create_model(
        "Testbed",
        __base__=Model,
        __doc__="Namespaces with emulated links, machines that ssh reaches without a password, or "
        "the nodes of a Slurm allocation.",
        **fields,
    )


def _select_settings(given: Any) -> Settings:
    """The settings of the kind that was chosen."""
    settings = _settings(given.kind)
    return settings(**{name: getattr(given, name) for name in settings.model_fields})


def default() -> Settings:
    """The testbed of an experiment that says nothing of it."""
    return _settings(DEFAULT)(kind=DEFAULT)


if TYPE_CHECKING:
    from flowsweep.experiment.settings import Settings

    Testbed = Settings
else:
    Testbed = Annotated[_combine_settings(), AfterValidator(_select_settings)]
