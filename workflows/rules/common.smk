# What every rule needs: the checked experiment, its runs, its hosts, the paths.
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from flowsweep import experiment as experiments
from flowsweep.runs import names
from flowsweep import printing
from flowsweep.cli.plan import wait_note
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import results
from flowsweep.experiment.claim import claim
from flowsweep.experiment.estimate import estimate
from flowsweep.testbed import congestion
from flowsweep.runs.run_records import capture_files

# `flowsweep` of this very environment, also when it is not activated.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

# The scheduler's lines for each job would drown the progress of the runs, and a failed
# first try of a run has no earlier output that could be restored.
CHATTER = (
    "Select jobs to execute",
    "Execute ",
    "Touching output",
    "Using shell",
    "Cannot restore",
)
logger.addFilter(lambda record: not record.getMessage().startswith(CHATTER))

# Runs take all of the testbed, the analysis one hundredth: a reader-writer lock.
# Without a limit Snakemake ignores the resource without a word, so one is made here.
if "testbed" not in workflow.global_resources:
    workflow.register_resource("testbed", 100)


def without_braces(path):
    """A path that Snakemake can be told: a brace in one begins a wildcard, however it is written."""
    if "{" in str(path) or "}" in str(path):
        raise FlowsweepError(
            f"{path}: Snakemake cannot read this",
            found="a brace in its path",
            expected="a path without { and }",
            remedy="rename it, or use flowsweep ingest, runs and report, which can",
        )
    return str(path)


EXPERIMENT_FILE = str(
    [*workflow.overwrite_configfiles, "workflows/experiments/demo.yaml"][0]
)
try:
    without_braces(EXPERIMENT_FILE)
    EXPERIMENT = experiments.load(EXPERIMENT_FILE)
    RESULTS = f"results/{EXPERIMENT.name}"
    OF_ANOTHER = results.check(EXPERIMENT, Path(RESULTS))
except FlowsweepError as error:
    raise WorkflowError(printing.visible(str(error)))
if OF_ANOTHER:
    logger.warning(printing.visible(OF_ANOTHER))
SOURCE = results.source(EXPERIMENT, Path(RESULTS))
# All tables are younger than it: those of another experiment are made anew.
MADE_FROM = f"{RESULTS}/{results.TABLES_MARK}/{results.digest(SOURCE)}"

if EXPERIMENT.captured is None:
    RUN_PLAN = {run.id: run for run in EXPERIMENT.plan()}
    RUN_ORDER = {run_id: index for index, run_id in enumerate(RUN_PLAN)}
    RUN_NAMES = {run_id: run_id for run_id in RUN_PLAN}
    RUNS_FOLDER = f"{RESULTS}/runs"
    RUNS_OF_HOSTS = {}
    for run_id, run in RUN_PLAN.items():
        hosts = tuple(host.name for host in run.hosts)
        RUNS_OF_HOSTS.setdefault(hosts, []).append(run_id)
    CAPTURES = {
        run_id: [f"{RUNS_FOLDER}/{run_id}/{host.name}.pcap.zst" for host in run.hosts]
        for run_id, run in RUN_PLAN.items()
    }
else:
    RUN_PLAN = {}
    RUNS_OF_HOSTS = {}
    RUNS_FOLDER = str(EXPERIMENT.captured / "runs")
    try:
        CAPTURED = {
            names.check(folder.name, "a run", folder): [
                without_braces(path)
                for files in capture_files(folder).values()
                for path in files
            ]
            for folder in sorted(Path(RUNS_FOLDER).iterdir())
            if folder.is_dir() and not folder.name.startswith(".")
        }
    except (FlowsweepError, OSError) as error:
        raise WorkflowError(printing.visible(str(error)))
    # A wildcard is a run's name as paths spell it, in which no character has a meaning.
    RUN_NAMES = {names.encode(run): run for run in CAPTURED}
    CAPTURES = {run_id: CAPTURED[run] for run_id, run in RUN_NAMES.items()}
    if not any(CAPTURES.values()):
        raise WorkflowError(
            f"{RUNS_FOLDER}: no captures\n"
            f"  found     {len(CAPTURES)} folders without <host>.pcap\n"
            f"  expected  {RUNS_FOLDER}/<run>/<host>.pcap, .pcapng, .pcap.zst, .pcap.gz"
        )


# Which runs there are, and how they are planned: where that changes, their table is made anew.
LISTED = results.digest(
    repr({run_id: RUN_PLAN[run_id].spec_hash() for run_id in RUN_PLAN} or [*CAPTURES])
)


def run_records(wildcards):
    """The run.json files that exist, or that a rule will make."""
    files = [f"{RUNS_FOLDER}/{RUN_NAMES[run_id]}/run.json" for run_id in CAPTURES]
    return [path for path in files if RUN_PLAN or Path(path).exists()]


wildcard_constraints:
    run_id="[^/]+",
