"""Loads and checks an experiment file; errors name the line."""

from __future__ import annotations

import dataclasses
import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from flowsweep.errors import FlowsweepError
from flowsweep.experiment import document, limit, model, refined
from flowsweep.files import inputs, names
from flowsweep.validation import expected_of

#: The most bytes of a file: a mebibyte of YAML has more than ten thousand lines.
MOST_BYTES = 2**20
#: Keys under other tools' names, and ours.
_MEANT = {
    "bandwidth": "rate",
    "capacity": "rate",
    "speed": "rate",
    "throughput": "rate",
    "delay": "rtt",
    "latency": "rtt",
    "ping": "rtt",
    "packet_loss": "loss",
    "buffer_size": "buffer",
    "congestion_control": "congestion",
    "repeat": "repetitions",
    "nodes": "hosts",
}


@dataclass(frozen=True)
class About:
    """Fields of an experiment file that a report uses.

    Attributes:
        title: The title; may be empty.
        workloads: The names of the workloads, in the file's order.
        papers: The papers that the experiment belongs to, in the file's order.
        need: The absolute limits of outcomes, by name.
    """

    title: str = ""
    workloads: tuple[str, ...] = ()
    papers: tuple[str, ...] = ()
    need: dict[str, limit.Limit] = dataclasses.field(default_factory=dict)


def about(text: str) -> About:
    """Returns title, workloads, papers and limits of an experiment file, even of an invalid one.

    A report only needs the tables: an invalid or outdated file must not stop it.
    """
    try:
        _, data = document.read(text)
    except (FlowsweepError, yaml.YAMLError):
        return About()
    if not isinstance(data, dict):
        return About()
    listed = data.get("workload")
    named = [
        one for one in (listed if isinstance(listed, list) else [listed]) if isinstance(one, dict)
    ]
    names = [one.get("name") or one.get("app") or "command" for one in named]
    title, papers = data.get("title"), data.get("papers")
    return About(
        title if isinstance(title, str) else "",
        tuple(name for name in names if isinstance(name, str)),
        tuple(
            name for name in (papers if isinstance(papers, list) else []) if isinstance(name, str)
        ),
        _limits(data.get("need")),
    )


def _limits(given: object) -> dict[str, limit.Limit]:
    """Returns the limits that can be parsed."""
    stated = given if isinstance(given, dict) else {}
    found = {name: limit.parse(text) for name, text in stated.items() if isinstance(text, str)}
    return {str(name): one for name, one in found.items() if one is not None}


def load(path: Path | str, runs: Path | None = None) -> model.Experiment:
    """Reads and checks an experiment file.

    A file `experiment.yaml` next to a folder `runs` is an experiment that was already
    captured: it is named after its folder, and nothing is run.

    Args:
        path: The file.
        runs: The folder of its runs, for the points that refinement has added to the sweep.

    Raises:
        FlowsweepError: The file is invalid; with its line, what was found, expected, and a remedy.
    """
    path = Path(path)
    text = inputs.read_text(
        path,
        "an experiment file",
        MOST_BYTES,
        remedy="workflows/experiments/demo.yaml is one to begin with",
    )
    try:
        tree, data = document.read(text)
    except FlowsweepError as error:
        error.what = f"{path}, {error.what}"
        raise
    except yaml.YAMLError as error:
        raise _not_yaml(path, text, error) from None
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise FlowsweepError(
            f"{path}, line 1: this is not an experiment",
            found=inputs.shorten_value(data),
            expected="keys such as sites, link, workload, axes",
            remedy="workflows/experiments/demo.yaml is one to begin with",
        )
    beside = path.name in ("experiment.yaml", "experiment.yml") and (path.parent / "runs").is_dir()
    if beside and "captured" not in data:
        data = {**data, "captured": "."}
    try:
        experiment = model.Experiment.model_validate(data)
    except ValidationError as error:
        raise _describe_faults(path, tree, error) from None
    name = path.absolute().parent.name if beside else path.stem
    names.check(name, names.EXPERIMENT, path)
    experiment._path = path  # noqa: SLF001 - the model is frozen for all other code
    experiment._name = name  # noqa: SLF001
    if runs is not None:
        experiment._refined = refined.passes(experiment.refine, runs)  # noqa: SLF001
    if experiment.captured is not None:
        folder = path.parent / experiment.captured
        if not (folder / "runs").is_dir():
            raise FlowsweepError(
                f"{path}: there is no captured experiment in {folder}",
                found="no folder `runs` in it" if folder.is_dir() else "no such folder",
                expected=f"{folder / 'runs'}/<run>/<host>.pcap",
                remedy="correct `captured`; it is relative to the experiment file",
            )
        object.__setattr__(experiment, "captured", folder)
    return experiment


def _not_yaml(path: Path, text: str, error: yaml.YAMLError) -> FlowsweepError:
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark is not None else 1
    found = getattr(error, "problem", None) or str(error)
    if isinstance(error, yaml.reader.ReaderError):  # has a position but no line
        line = text.encode()[: error.position].count(b"\n") + 1
        found = f"U+{error.character:04X}: {error.reason}"
    return FlowsweepError(
        f"{path}, line {line}: this is not YAML",
        found=found,
        expected="key: value, indented by spaces",
        remedy=f"correct line {line}",
    )


def _describe_faults(path: Path, tree: yaml.Node | None, error: ValidationError) -> FlowsweepError:
    """Returns an error for the first fault, with the number of further faults."""
    faults = error.errors()
    # An unknown key is often the cause of the others ("required", "too short").
    fault = next((item for item in faults if item["type"] == "extra_forbidden"), faults[0])
    location = [part for part in fault["loc"] if not str(part).startswith("function-")]
    node, line, named = _find(tree, location)
    where = ".".join(named).replace(".[", "[")
    found = expected = remedy = None
    if fault["type"] == "extra_forbidden":
        key = str(location[-1])
        known = _known_keys([str(part) for part in location[:-1]])
        near = [meant for meant in [_MEANT.get(key.lower())] if meant in known]
        near = near or difflib.get_close_matches(key, known, n=1)
        what, found = "unknown key", f'"{key}"'
        expected = f"one of {', '.join(known)}" if known else None
        remedy = f'write "{near[0]}"' if near else f"remove line {line}"
    elif fault["type"] == "refused":
        parts = fault["ctx"]
        what, found, expected = parts["what"], parts["found"], parts["expected"]
        line = _find_scalar_line(node, what) or line
        remedy = parts["remedy"] or f"correct line {line}"
    else:
        what = fault["msg"][0].lower() + fault["msg"][1:]
        found, expected = inputs.shorten_value(fault["input"]), expected_of(fault)
        if fault["type"] == "missing":
            expected = f"the key `{location[-1]}`"
        remedy = f"correct line {line}"
    if len(faults) > 1:
        remedy = f"{remedy or 'correct it'} ({len(faults) - 1} more to correct after it)"
    place = f"{path}, line {line}" + (f": {where}" if where else "")
    return FlowsweepError(f"{place}: {what}", found=found, expected=expected, remedy=remedy)


def _find(tree: yaml.Node | None, location: list[Any]) -> tuple[yaml.Node | None, int, list[str]]:
    """Returns the node, the line and the readable path of a place in the file."""
    node = tree
    named: list[str] = []
    line = tree.start_mark.line + 1 if tree is not None else 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            pairs = {key.value: (key, value) for key, value in node.value}
            if part not in pairs:
                continue  # a level of the model that the file's short form omits
            key, node = pairs[part]
            line = key.start_mark.line + 1
            named.append(str(part))
        elif isinstance(node, yaml.SequenceNode) and part in range(len(node.value)):
            node = node.value[part]
            line = node.start_mark.line + 1
            named.append(f"[{part}]")
    return node, line, named


def _find_scalar_line(node: yaml.Node | None, message: str) -> int | None:
    """Returns the last line below `node` whose value is the word that `message` quotes."""
    quoted = re.search(r'"([^"]+)"', message)
    lines: list[int] = []
    pending = [node] if node is not None and quoted is not None else []
    while pending:
        current = pending.pop()
        if isinstance(current, yaml.ScalarNode):
            lines += [current.start_mark.line + 1] * (
                quoted is not None and current.value == quoted[1]
            )
        elif isinstance(current, yaml.MappingNode):
            pending += [part for pair in current.value for part in pair]
        elif isinstance(current, yaml.SequenceNode):
            pending += current.value
    return max(lines, default=None)


def _known_keys(location: list[str]) -> list[str]:
    """Returns the keys that the file may have at a place."""
    current: type[BaseModel] = model.Experiment
    for part in location:
        for name, field in current.model_fields.items():
            if part in (name, field.alias):
                current = _model_in(field.annotation) or current
    return [field.alias or name for name, field in current.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Returns the model in a field's type: X, X | None, list[X], dict[str, X]."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(part) for part in get_args(annotation))
    return next((part for part in found if part is not None), None)
