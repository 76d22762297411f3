"""The captures and logs that were recorded during a run, by host."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.errors import FlowsweepError
from flowsweep.files import names
from flowsweep.runs.run_folder import captures_by_host, find_overlooked, logs_by_host

if TYPE_CHECKING:
    from flowsweep.parsing import Drops

RUN_RECORD = "run.json"


@dataclass(frozen=True)
class Recordings:
    """The captures and logs of one run, by host.

    Attributes:
        run: The name of the run.
        captures: The files of each host.
        logs: The Zeek logs of each host.
        drops: Packets that kernel and interface dropped at a host; for a host that is missing
            here, the manifests of its captures state them.
        passed_over: Captures and logs that are not named after a host.
        no_logs: Files that are named like Zeek logs but contain none.
    """

    run: str
    captures: Mapping[str, Sequence[Path]]
    logs: Mapping[str, Sequence[Path]]
    drops: Mapping[str, Drops] = field(default_factory=dict)
    passed_over: Sequence[Path] = ()
    no_logs: Sequence[Path] = ()

    @classmethod
    def in_folder(cls, run_dir: Path) -> Recordings:
        """Finds the captures and logs in the folder of a run."""
        if not run_dir.is_dir():
            raise FlowsweepError(f"{run_dir}: no such folder", expected="the folder of one run")
        run = names.check(run_dir.resolve().name, "a run", run_dir)
        _refuse_runs(run_dir)
        captures, logs = captures_by_host(run_dir), logs_by_host(run_dir)
        for host, files in (*captures.items(), *logs.items()):
            names.check(host, "a host", files[0])
        if not captures and not logs:
            there = ", ".join(sorted(path.name for path in run_dir.iterdir())) or "an empty folder"
            raise FlowsweepError(
                f"{run_dir}: no capture in it, and no log of Zeek",
                found=there,
                expected="<host>.pcap, .pcapng, .cap or .dmp, plain or with .zst, .gz or .lz4; "
                "<host>.conn.log; or folders of such files, called as the hosts are",
                remedy="check the folder, or record the run again: flowsweep run",
            )
        known = {path for files in (*captures.values(), *logs.values()) for path in files}
        no_logs: list[Path] = []
        if logs:
            from flowsweep.zeek import hosts

            logs, no_logs = hosts.select_recognised(logs)
        filled = [path for path in no_logs if path.stat().st_size]
        if filled and not captures and not logs:
            raise FlowsweepError(
                f"{filled[0]}: no log of Zeek, and nothing else is recorded in {run_dir}",
                expected="#fields and #types in lines that begin with #, or JSON objects",
                remedy="copy it again as Zeek wrote it, or record the run again: flowsweep run",
            )
        return cls(
            run, captures, logs, passed_over=find_overlooked(run_dir, known), no_logs=no_logs
        )


def _refuse_runs(folder: Path) -> None:
    """Raises if the folder holds runs, each of which would be taken for a host."""
    if (folder / RUN_RECORD).exists():
        return
    run = min((path.parent for path in folder.glob(f"[!.]*/{RUN_RECORD}")), default=None)
    if run is not None:
        raise FlowsweepError(
            f"{folder}: a folder of runs, not of captures",
            found=f"{run.name}/{RUN_RECORD}",
            expected="the folder of one run",
            remedy=f"name one run, such as {shlex.quote(str(run))}, or each of them in turn",
        )
