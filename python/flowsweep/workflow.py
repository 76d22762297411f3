"""Helpers for the Snakefile, used by `workflows/rules/common.smk`."""

from __future__ import annotations

import functools
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flowsweep import content
from flowsweep import experiment as experiments
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import Experiment, Run, points, refined

#: The experiment of a `snakemake` without `--configfile`.
DEFAULT = "workflows/experiments/demo.yaml"
#: The image of `analysis_image`, built from the Containerfile, in Snakemake's working directory.
IMAGE = "flowsweep.sif"
#: Snakemake's line on an object, `s3://bucket/key`, that it could not store or retrieve.
LOST_STORAGE = re.compile(
    r"Failed to (?:store output in storage|retrieve storage object from) (\S+)"
)
#: Snakemake's lines for each job would drown the progress of the runs, and a failed first try of a
#: run has no earlier output that it could restore. Job groups matter only to cluster schedulers.
CHATTER = (
    "Select jobs to execute",
    "Execute ",
    "Touching output",
    "Using shell",
    "Cannot restore",
    "Group jobs: inactive",
)


def use_own_programs() -> None:
    """Makes rules call the `flowsweep` of this environment, even if it is not activated."""
    own = str(Path(sys.executable).parent)
    os.environ["PATH"] = f"{own}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def analysis_image() -> str:
    """Returns the image for analysis rules, which `snakemake --sdm apptainer` uses.

    It is a file, or a URL with its scheme; `FLOWSWEEP_CONTAINER` overrides it.
    """
    named = os.environ.get("FLOWSWEEP_CONTAINER", IMAGE)
    return named if "://" in named else str(Path(named).absolute())


def quieten(logger: logging.Logger, lists_jobs: Callable[[], bool]) -> None:
    """Leaves Snakemake's lines for each job out of its log.

    Args:
        logger: Snakemake's.
        lists_jobs: Whether this is a dry run, which shows the list of jobs. In other runs, the
            output of the commands replaces the list.
    """

    def is_shown(record: logging.LogRecord) -> bool:
        is_listing = getattr(getattr(record, "event", None), "value", None) == "job_info"
        if is_listing and not lists_jobs():
            return False
        return not record.getMessage().startswith(CHATTER)

    logger.addFilter(is_shown)


def experiment_file(files: Sequence[str | Path], settings: Mapping[str, object]) -> str:
    """Returns the path of the workflow's one experiment file.

    Args:
        files: What `--configfile` names.
        settings: What `--config` sets.

    Raises:
        FlowsweepError: There are several files, or settings outside the file. Every command of the
            workflow reads the experiment file, and the report keeps a copy of it, so a setting
            that is not in the file would be lost.
    """
    if settings:
        given = " ".join(f"{name}={value}" for name, value in settings.items())
        raise FlowsweepError(
            "--config is not used by this workflow",
            found=f"--config {given}",
            expected="all settings in the experiment file, of which the results keep a copy",
            remedy="write it into a copy of the file, and give that one to --configfile",
        )
    if len(files) > 1:
        raise FlowsweepError(
            "--configfile names several files",
            found=", ".join(map(str, files)),
            expected="one experiment file",
            remedy="start snakemake once for each experiment; join files that are one by hand",
        )
    return without_braces(files[0] if files else content.root() / DEFAULT)


def tell_remedies(logger: logging.Logger) -> None:
    """Adds a remedy to Snakemake's error on lost storage, which has none.

    Changes the log because Snakemake 9.27 does not reach `onerror:` if the server is gone.

    Args:
        logger: Snakemake's.
    """
    warned: set[str] = set()

    def note(record: logging.LogRecord) -> bool:
        for key in LOST_STORAGE.findall(record.getMessage()):
            if key not in warned:
                warned.add(key)
                record.msg = f"{record.getMessage()}\n{_lost_error(key)}"
                record.args = ()
        return True

    logger.addFilter(note)


def _lost_error(key: str) -> FlowsweepError:
    return FlowsweepError(
        f"{key}: could not be stored or read",
        found="its server was lost, or does not answer as one of S3",
        expected="a server that is there until the workflow has ended",
        remedy="the same snakemake again, once the server is back: what is stored is whole, and "
        "only the rest is made",
    )


def known_plan(file: str, runs: Path) -> dict[str, Run]:
    """Returns the runs of an experiment that are known so far, by name and in order.

    The points of a refinement pass are chosen while the workflow runs.

    Args:
        file: The experiment file.
        runs: The folder of its runs.
    """
    chosen = tuple(sorted(path.name for path in (runs / refined.FOLDER).glob("*.json")))
    return _known_plan(file, runs, chosen)


@functools.lru_cache(maxsize=16)
def _known_plan(file: str, runs: Path, _: tuple[str, ...]) -> dict[str, Run]:
    return {run.id: run for run in experiments.load(file, runs).plan()}


@dataclass
class CaptureRule:
    """The runs of one set of hosts, which a Snakemake rule makes.

    Attributes:
        name: The rule's name.
        hosts: The names of the hosts.
        patterns: Regular expressions for the names of the runs.
    """

    name: str
    hosts: tuple[str, ...]
    patterns: list[str] = field(default_factory=list)


def list_capture_rules(experiment: Experiment, plan: Mapping[str, Run]) -> list[CaptureRule]:
    """Returns a rule for each set of hosts on which runs are made."""
    patterns: dict[tuple[str, ...], list[str]] = {}
    for run_id, run in plan.items():
        hosts = tuple(host.name for host in run.hosts)
        patterns.setdefault(hosts, []).append(re.escape(run_id))
    for workload in experiment.workloads if experiment.refine else ():
        # Points that are not chosen yet: all hosts of the workload take part.
        per_site = points.baseline(experiment, workload).hosts
        hosts = tuple(host.name for host in experiment.hosts_of(workload, per_site))
        pattern = rf"(?!.*-hosts_){re.escape(workload.name)}-[^/]+-r[0-9]+"
        patterns.setdefault(hosts, []).append(pattern)
    found: list[CaptureRule] = []
    for hosts, own in patterns.items():
        name = f"capture_on_{len(hosts)}_hosts"
        alike = sum(len(rule.hosts) == len(hosts) for rule in found)
        found.append(CaptureRule(f"{name}_{alike + 1}" if alike else name, hosts, own))
    return found


def without_braces(path: str | Path) -> str:
    """Returns the path if Snakemake accepts it: a brace begins a wildcard, even if escaped.

    Raises:
        FlowsweepError: The path contains a brace.
    """
    if "{" in str(path) or "}" in str(path):
        raise FlowsweepError(
            f"{path}: Snakemake cannot read this",
            found="a brace in its path",
            expected="a path without { and }",
            remedy="rename it, or use flowsweep ingest, runs and report, which can",
        )
    return str(path)
