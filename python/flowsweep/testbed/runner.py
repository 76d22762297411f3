"""A planned run to a run directory: run.json, captures, manifests, app.json.

Files are written in a hidden folder beside the directory and moved at the end, run.json
last: a directory with run.json is complete.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import units
from flowsweep.errors import FlowsweepError
from flowsweep.testbed import enclosure, workloads
from flowsweep.testbed.bed import Bed, BedHost

if TYPE_CHECKING:
    from flowsweep.experiment import Run

RECORD = "run.json"
OURS = ("*.pcap*", "*.capture.json", "app.json")


def bed_of(run: Run, folder: Path | None = None) -> Bed:
    """The testbed of a planned run; `folder` takes the captures."""
    experiment, point = run.experiment, run.point
    return Bed(
        hosts=[
            BedHost(host.name, host.site, host.address, host.mgmt_address, host.mac)
            for host in experiment.hosts
        ],
        rtt_ns=point.rtt_ns,
        rate_bit_s=point.rate_bit_s,
        queue_bytes=point.effective_queue_bytes,
        buffer_bytes=point.buffer_bytes,
        congestion_control=experiment.tcp.congestion_control,
        seed=experiment.seed,
        snaplen=experiment.capture.snaplen,
        capture_filter=experiment.capture.filter,
        capture_buffer_bytes=experiment.capture.buffer_bytes,
        folder=str(folder.absolute()) if folder else "",
        timeout_s=experiment.timeout_s,
    )


def read_record(directory: Path) -> dict[str, Any] | None:
    """The run.json of a complete run, or None."""
    try:
        record = json.loads((directory / RECORD).read_text())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def is_done(run: Run, directory: Path) -> bool:
    """Whether the directory holds this very run, complete."""
    record = read_record(directory)
    return record is not None and record.get("spec_hash") == run.spec_hash()


def perform(run: Run, directory: Path, say: Callable[[str], None]) -> dict[str, Any] | None:
    """Makes the run unless it is there; its record, or None if there was nothing to do."""
    program = workloads.find(run.workload.app)
    if is_done(run, directory):
        return None
    with enclosure.exclusive(f"run {run.id}", say) as lock:
        if is_done(run, directory):
            return None
        partial = directory.parent / f".{directory.name}.partial"
        try:
            record = _try_until_valid(run, program, partial, lock, say)
            _publish(partial, directory, record)
        except OSError as error:
            raise FlowsweepError(
                f"{directory}: cannot be written", found=str(error), expected="a run directory"
            ) from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return record


def _try_until_valid(
    run: Run, program: workloads.Program, partial: Path, lock: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """The first try that is not invalid, or the last; the reasons of the others stay with it."""
    reasons: list[str] = []
    while True:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        record = _capture(run, program, partial, lock)
        record["invalid_tries"] = reasons
        # A failed program is a result, and a warm-up is not used: neither is tried again.
        if record["status"] != "invalid" or run.warmup or len(reasons) >= run.experiment.retries:
            return record
        reasons.append(record["reason"])
        say(f"  invalid  {run.id}, once more: {record['reason']}")


def _capture(run: Run, program: workloads.Program, partial: Path, lock: int) -> dict[str, Any]:
    bed = bed_of(run, partial)
    ranks = program.ranks([host.name for host in bed.hosts], run.workload.ranks_per_host)
    application = partial / "app.json"
    command = program.command(run.workload.problem, run.workload.compute, application.absolute())
    bed = Bed(**{**vars(bed), "ranks": ranks, "program": command})
    _, result = enclosure.run(bed, "run", lock)
    return _record(run, bed, result, _application(application))


def _application(path: Path) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return record


def _record(
    run: Run, bed: Bed, result: dict[str, Any], application: dict[str, Any] | None
) -> dict[str, Any]:
    """run.json: what was asked, what was measured, whether it counts."""
    status, reason = "valid", None
    if result["failure"] is not None:
        status, reason = "failed", result["failure"]
    elif application is None:
        status, reason = "failed", "the program left no app.json"
    elif application.get("correct") is False:
        status, reason = "failed", f"wrong answer: {json.dumps(application.get('answer'))}"
    elif result["faults"]:
        status, reason = "invalid", "; ".join(result["faults"])
    spec = run.spec()
    axes = spec["axes"]
    rates = [path["rate_bit_s"] for path in result["paths"]]
    rtts = sorted(path["rtt_ns"] for path in result["paths"])
    axes["rtt"]["measured"] = units.format_time(rtts[len(rtts) // 2])
    if all(rate is not None for rate in rates) and rates:
        axes["rate"]["measured"] = units.format_rate(min(rates))
    return {
        **spec,
        "hosts": [
            {"name": host.name, "site": host.site, "address": host.address} for host in bed.hosts
        ],
        "ranks": bed.ranks,
        "start": _utc(result["start_ns"]),
        "end": _utc(result["end_ns"]),
        "completion_s": application.get("completion_s")
        if application is not None and status != "failed"
        else None,
        "status": status,
        "reason": reason,
        "application": application,
        "emulator": result["emulator"],
        "tcp": result["tcp"],
        "paths": result["paths"],
        "frames": result["frames"],
        "cost_s": result["cost_s"],
        "spec_hash": run.spec_hash(),
        "versions": versions(),
    }


def _publish(partial: Path, directory: Path, record: dict[str, Any]) -> None:
    """Moves everything into place; at no time is there a run.json of a half-moved run."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / RECORD).unlink(missing_ok=True)
    for pattern in OURS:
        for old in directory.glob(pattern):
            old.unlink()
    for path in sorted(partial.iterdir()):
        path.replace(directory / path.name)
    written = partial / RECORD
    with written.open("w") as out:
        out.write(json.dumps(record, indent=1) + "\n")
        out.flush()
        os.fsync(out.fileno())
    written.replace(directory / RECORD)


@cache
def versions() -> dict[str, str]:
    """What made the run."""
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
