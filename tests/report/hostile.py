"""An experiment in which every name tries to become markup or a script of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import full_records
import polars as pl
import synthetic

#: What a name can do once it is markup: run or end a script, hide what follows, fetch a file.
IMAGE = '<img src=x onerror="window.hit=1">'
ENDS = "</script></style></title><script>window.hit=1</script>"
SWALLOWS = "<!--<script>"
CONTROL = "\x00\x07\x1b[31m\x7f\x9b\u2028\u202e"
#: The same for a name that is part of a path.
PATH = "<script>hit()<!--<b onclick>\"'&amp;"
YAML = f"""\
title: {ENDS}{IMAGE}
sites: {{west: [pc1, pc2], east: [pc3, pc4]}}
# {SWALLOWS}{ENDS}
"""


def make(directory: Path) -> Path:
    """Writes the tables and experiment.yaml, and returns the folder."""
    folder = directory / f"results {PATH}"
    plan = synthetic.Plan(rtts_ms=(1, 4, 16), rates_mbit_s=(100, 20, 5), repetitions=3,
                          invalid=("nqueens-rtt_4ms-r1",), failed=("nqueens-rate_5Mbit-r1",),
                          damaged=(("nqueens-rate_20Mbit-r1", "pc3"),))  # fmt: skip
    synthetic.make(folder, plan)
    full_records.make(directory / "full")
    (folder / "experiment.yaml").write_text(YAML, encoding="utf-8")
    tables, more = folder / "tables", directory / "full" / "tables"
    frames = [pl.read_parquet(one / "runs.parquet") for one in (tables, more)]
    rows = [_hostile(row) for row in pl.concat(frames, how="diagonal_relaxed").rows(named=True)]
    schema = {"start": synthetic.TIME, "end": synthetic.TIME}
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=schema)
    frame.write_parquet(tables / "runs.parquet")
    for part in [*tables.glob("run=*/host=*"), *more.glob("run=*/host=*")]:
        run, host = part.parts[-2:]
        to = tables / f"{run}{PATH}" / f"{host}{PATH}"
        to.mkdir(parents=True)
        for file in part.iterdir():
            file.rename(to / file.name)
        part.rmdir()
    return folder


def _hostile(row: dict[str, Any]) -> dict[str, Any]:
    """Puts such names into every text column of a row of `runs`."""
    host = {name: f"{name}{PATH}" for name in ("pc1", "pc2", "pc3", "pc4")}
    site = {"west": f"west{IMAGE}", "east": f"east{ENDS}{SWALLOWS}"}
    problem = json.loads(row["problem"])
    record = json.loads(row["json"])
    record["versions"] = {f"a{IMAGE}": f"1{SWALLOWS}", "b": ENDS}
    record["seed"] = IMAGE
    application = record.get("application", {})
    for one in application.get("ranks", ()):
        one["host"] = host[one["host"]]
    for one in application.get("phases", ()):
        one["name"] += IMAGE
    if "problem" in application:
        application["problem"]["transport"] += ENDS
    return row | {
        "run": f"{row['run']}{PATH}",
        "experiment": ENDS,
        "app": f"{row['app']}{SWALLOWS}{CONTROL}",
        "problem": json.dumps(problem | {f"p{IMAGE}": ENDS}),
        "compute": IMAGE,
        "reason": row["reason"] and f"{row['reason']}{SWALLOWS}{IMAGE}{CONTROL}",
        "hosts": [
            one | {"name": host[one["name"]], "site": site[one["site"]]} for one in row["hosts"]
        ],
        "json": json.dumps(record),
    }
