"""Makes a planned run and its directory: run.json, captures, manifests, app.json.

Files are written in a hidden folder, which replaces the directory at the end: a directory with
run.json is complete.
"""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import signals, units
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import printed
from flowsweep.files import inputs
from flowsweep.files.outputs import explaining
from flowsweep.outcome_names import COMPLETION
from flowsweep.runs.applications import Application
from flowsweep.runs.record_fields import checked, find_misspelt
from flowsweep.testbed import describe, kinds, lock, workloads
from flowsweep.testbed.program import LOG
from flowsweep.testbed.run_folder import EXAMPLE, KIND, RECORD, RunFolder, read_record
from flowsweep.testbed.transient import TransientError

__all__ = ["RECORD", "is_done", "perform", "read_record", "versions"]

if TYPE_CHECKING:
    from flowsweep.experiment import Run
    from flowsweep.testbed.kind import Session
    from flowsweep.testbed.result import RunResult
    from flowsweep.testbed.spec import Spec


def is_done(run: Run, directory: Path) -> bool:
    """Returns whether the directory contains exactly this run, complete."""
    record = read_record(directory)
    return record is not None and record.get("spec_hash") == run.spec_hash()


def perform(
    run: Run, directory: Path, say: Callable[[str], None], ahead: Session | None = None
) -> dict[str, Any] | None:
    """Makes the run unless it exists; returns its record, or None if there was nothing to do.

    `ahead`: a session that was started before the experiment was read, if it is usable.
    """
    program = workloads.find(run.workload)
    folder = RunFolder(directory)
    if is_done(run, directory):
        folder.tidy()
        return None
    folder.check()
    session = kinds.find(run).session(run, ahead)
    begin = time.monotonic()
    with lock.exclusive(f"run {run.id}", say, session.lock):
        waited_s = time.monotonic() - begin
        if is_done(run, directory):
            return None
        with explaining(f"{directory}: cannot be written"), signals.cleaning(folder.leave):
            record = _try_until_valid(run, program, folder, session, say)
            # Not part of cost_s: the time of another sweep does not predict that of the next run.
            record["waited_s"] = round(waited_s, 4)
            folder.publish(record)
    return record


def _try_until_valid(
    run: Run,
    program: workloads.Program,
    folder: RunFolder,
    session: Session,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Returns the first try that is not invalid, or the last, with the reasons of earlier ones."""
    for warning in kinds.warnings([run]):
        say(warning)
    reasons: list[str] = []
    while True:
        partial = folder.stage()
        last = len(reasons) >= run.experiment.retries
        try:
            record = _capture(run, program, partial, session, say)
        except TransientError as error:
            # A part of the testbed failed in mid-run: what is left is like an invalid run.
            if last or not error.in_program:
                raise
            reason = error.line
        else:
            record["invalid_tries"] = reasons
            # A failed program is a result, and a warm-up is not used: neither is repeated.
            if last or record["status"] != "invalid" or run.warmup:
                return record
            reason = record["reason"]
        reasons.append(reason)
        say(f"  invalid  {run.id}, once more: {reason}")


def _capture(
    run: Run,
    program: workloads.Program,
    partial: Path,
    session: Session,
    say: Callable[[str], None],
) -> dict[str, Any]:
    application = partial / "app.json"
    described = kinds.find(run).describe(describe.spec_of(run, partial), run)
    spec = program.on(described, run, application.absolute())
    result = session.run(spec, say)
    # A program that is killed while it writes leaves this file.
    application.with_name(f".{application.name}.part").unlink(missing_ok=True)
    if result.failure is None and _is_nothing_crossed(result):
        say(f"  warning  {run.id}: no packet crossed a link: for MPI say `where: mpi`")
    stated = None
    try:
        stated = _application(application)
        for line in find_misspelt(Application, stated or {}):
            say(f"  warning  {run.id}: app.json: {line}")
    except FlowsweepError as error:
        # The tables could not represent it, and the whole sweep would have no tables.
        words = " ".join(str(error).replace(f"{application}: ", "").split())
        result = replace(result, failure=result.failure or f"app.json cannot be used: {words}")
    if run.workload.outcomes and result.failure is None:
        try:
            stated = _with_printed(run, stated, partial / LOG)
        except FlowsweepError as error:
            result = replace(result, failure=error.what)
    timed = _wall_time(run, result)
    if timed is not None and (stated or {}).get("completion_s") is None:
        stated = {**timed, **(stated or {}), "completion_s": timed["completion_s"]}
    record = _record(run, spec, result, stated)
    try:
        inputs.object_text(record, application, KIND, EXAMPLE)
    except FlowsweepError as error:
        # The record of the run contains the program's output, and has the same limits.
        words = " ".join(str(error).replace(f"{application}: ", "").split())
        failure = f"app.json cannot be kept in {RECORD}: {words}"
        return _record(run, spec, replace(result, failure=result.failure or failure), None)
    return record


def _is_nothing_crossed(result: RunResult) -> bool:
    """Returns whether links count what they receive and received nothing from the program."""
    received = [link.get("received") for link in result.emulator["links"]]
    return bool(received) and not any(received) and None not in received


def _wall_time(run: Run, result: RunResult) -> dict[str, Any] | None:
    """Times a command that does not time itself, from its start to the end of its last process.

    None for a command with other outcomes, which may run for a fixed time.
    """
    outcomes = run.workload.outcomes
    is_judged = bool(outcomes) and outcomes.get(COMPLETION) != printed.MEASURED
    if run.workload.command is None or result.failure is not None or is_judged:
        return None
    return {
        "app": run.app,
        "problem": json.loads(run.problem),
        "start": _utc(result.start_ns),
        "end": _utc(result.end_ns),
        "completion_s": result.program_s or (result.end_ns - result.start_ns) / 1e9,
        "timed": "by the testbed",
    }


def _with_printed(run: Run, stated: dict[str, Any] | None, log: Path) -> dict[str, Any]:
    """Returns the program's account of its run, with the outcomes that it printed.

    Raises:
        FlowsweepError: An outcome is missing, or is given twice.
    """
    found = printed.read(run.workload.outcomes, log)
    stated = {"app": run.app, "problem": json.loads(run.problem), **(stated or {})}
    stated |= {**found, "outcomes": [*stated.get("outcomes", []), *found["outcomes"]]}
    checked(Application, stated, log)
    return stated


def _application(path: Path) -> dict[str, Any] | None:
    """Reads app.json, the program's own account of its run; None if it wrote none.

    Raises:
        FlowsweepError: It has an invalid value.
    """
    if not path.is_file():
        return None
    record, _ = inputs.read_object(path, "the record of an application", '{"completion_s": 1.5}')
    checked(Application, record, path)
    return record


def _record(
    run: Run, spec: Spec, result: RunResult, application: dict[str, Any] | None
) -> dict[str, Any]:
    """Returns run.json: what was requested, what was measured, and whether the run is valid."""
    status, reason = "valid", None
    if result.spoiled is not None:
        status, reason = "invalid", result.spoiled
    elif result.failure is not None:
        status, reason = "failed", result.failure
    elif application is None:
        status, reason = "failed", "the program left no app.json"
    elif application.get("correct") is False:
        status, reason = "failed", f"wrong answer: {json.dumps(application.get('answer'))}"
    elif result.faults:
        status, reason = "invalid", "; ".join(result.faults)
    planned = run.spec()
    axes = planned["axes"]
    for axis, value in _measured(run, result).items():
        axes.setdefault(axis, {})["measured"] = value
    is_judged = application is not None and status != "failed" and result.spoiled is None
    judged = application if application is not None and is_judged else {}
    if "beside" in planned:
        planned["beside"] = {**planned["beside"], **(result.beside or {})}
    return {
        **planned,
        "hosts": [
            {"name": host.name, "site": host.site, "address": host.address} for host in spec.hosts
        ],
        "ranks": spec.ranks,
        "start": _utc(result.start_ns),
        "end": _utc(result.end_ns),
        "completion_s": judged.get("completion_s"),
        "outcomes": judged.get("outcomes", []),
        "status": status,
        "reason": reason,
        "application": application,
        "emulator": result.emulator,
        "machine": result.machine,
        "tcp": result.tcp,
        "paths": result.paths,
        "frames": result.frames,
        "cost_s": result.cost_s,
        "spec_hash": run.spec_hash(),
        "versions": versions(),
    }


#: Counters of frames that were dropped before they used the line.
BEFORE_LINE = ("dropped_queue", "dropped_codel", "dropped_uplink", "dropped_oversize")


def _measured(run: Run, result: RunResult) -> dict[str, str]:
    """Returns measured values of axes, over the links that follow them: median RTT, least rate."""
    own = {frozenset(pair.between): pair.given() for pair in run.experiment.pairs}
    by_pair = dict(zip(run.links, result.paths, strict=True))

    def following(field: str, key: str) -> list[Any]:
        free = [pair for pair in by_pair if field not in own.get(frozenset(pair), {})]
        return [by_pair[pair][key] for pair in free or by_pair]

    found = {}
    rtts = [rtt for rtt in following("rtt_ns", "rtt_ns") if rtt is not None]
    if rtts:
        found["rtt"] = units.format_time(round(statistics.median(rtts)))
    rates = following("rate_bit_s", "rate_bit_s")
    if all(rate is not None for rate in rates) and rates:
        found["rate"] = units.format_rate(min(rates))
    links = result.emulator["links"]
    # Loss is drawn for the frames that use the line: not for those dropped before it.
    carried = sum(
        int(link["received"]) - sum(int(link.get(key) or 0) for key in BEFORE_LINE)
        for link in links
    )
    if carried > 0 and all("dropped_loss" in link for link in links) and not own:
        lost = sum(int(link["dropped_loss"]) for link in links)
        found["loss"] = f"{100 * lost / carried:.6g}%"
    return found


@cache
def versions() -> dict[str, str]:
    """Returns the versions of the software that made the run."""
    from importlib import metadata

    found = {"kernel": platform.release(), "python": platform.python_version()}
    for name in ("flowsweep", "openmpi", "mpi4py"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _utc(nanoseconds: int) -> str:
    seconds, fraction = divmod(nanoseconds, 10**9)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{fraction:09d}Z"
