"""The kinds of testbed: each is a package with one entry here.

The package of a kind has two modules. `settings` contains `Settings`, a subclass of the class in
`experiment.settings`, whose fields are the keys of an experiment file; `kind` contains `KIND`,
which makes runs (`testbed.kind.Kind`). This package knows the kinds only by name, because the
testbeds import it.
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
    """Returns a model of `testbed` in a file, with the settings of all kinds.

    A kind ignores the settings of the others: changing `kind` is enough to move a sweep from
    machines to namespaces.
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
    """Returns the settings of the chosen kind."""
    settings = _settings(given.kind)
    return settings(**{name: getattr(given, name) for name in settings.model_fields})


def default() -> Settings:
    """Returns the testbed of an experiment file without `testbed`."""
    return _settings(DEFAULT)(kind=DEFAULT)


if TYPE_CHECKING:
    from flowsweep.experiment.settings import Settings

    Testbed = Settings
else:
    Testbed = Annotated[_combine_settings(), AfterValidator(_select_settings)]
