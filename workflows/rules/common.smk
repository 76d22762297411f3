# What all rules need: the checked experiment, its runs, its hosts, the paths.
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from flowsweep import content
from flowsweep import experiment as experiments
from flowsweep import printing
from flowsweep.cli.plan import wait_note
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import results
from flowsweep.experiment.claim import claim
from flowsweep.experiment.estimate import estimate
from flowsweep.files import names
from flowsweep.runs.run_folder import recorded_files
from flowsweep.testbed import kinds
from flowsweep.workflow import (
    analysis_image,
    experiment_file,
    known_plan,
    list_capture_rules,
    quieten,
    tell_remedies,
    use_own_programs,
    without_braces,
)

use_own_programs()
quieten(logger, lists_jobs=lambda: workflow.dryrun)
tell_remedies(logger)

# Runs take all of the testbed, the analysis one hundredth: a reader-writer lock. Snakemake silently
# ignores a resource without a limit, so the limit is set here.
if "testbed" not in workflow.global_resources:
    workflow.register_resource("testbed", 100)

try:
    EXPERIMENT_FILE = experiment_file(
        workflow.overwrite_configfiles, workflow.config_settings.config
    )
    EXPERIMENT = experiments.load(EXPERIMENT_FILE)
    RESULTS = f"results/{EXPERIMENT.name}"
    OF_ANOTHER = results.check(EXPERIMENT, Path(RESULTS))
except FlowsweepError as error:
    raise WorkflowError(printing.visible(str(error)))
if OF_ANOTHER:
    logger.warning(printing.visible(OF_ANOTHER))
SOURCE = results.source(EXPERIMENT, Path(RESULTS))
# All tables are newer than this file, so those of another experiment are made again.
MADE_FROM = f"{RESULTS}/{results.TABLES_MARK}/{results.digest(SOURCE)}"

if EXPERIMENT.captured is None:
    RUNS_FOLDER = f"{RESULTS}/runs"
    # Includes the points of refinement passes that were chosen before the workflow was killed.
    RUN_PLAN = known_plan(EXPERIMENT_FILE, Path(RUNS_FOLDER))
    RUN_NAMES = {}
    CAPTURE_RULES = list_capture_rules(EXPERIMENT, RUN_PLAN)
    CAPTURES = {}
else:
    RUN_PLAN = {}
    CAPTURE_RULES = []
    RUNS_FOLDER = str(EXPERIMENT.captured / "runs")
    try:
        CAPTURED = {
            names.check(folder.name, "a run", folder): [
                without_braces(path)
                for files in recorded_files(folder).values()
                for path in files
            ]
            for folder in sorted(Path(RUNS_FOLDER).iterdir())
            if folder.is_dir() and not folder.name.startswith(".")
        }
    except (FlowsweepError, OSError) as error:
        raise WorkflowError(printing.visible(str(error)))
    # A wildcard is a run's name as encoded in paths, which has no special characters.
    RUN_NAMES = {names.encode(run): run for run in CAPTURED}
    CAPTURES = {run_id: CAPTURED[run] for run_id, run in RUN_NAMES.items()}
    if not any(CAPTURES.values()):
        raise WorkflowError(
            f"{RUNS_FOLDER}: no captures\n"
            f"  found     {len(CAPTURES)} folders without <host>.pcap\n"
            f"  expected  {RUNS_FOLDER}/<run>/<host>.pcap, .pcapng, .pcap.zst, .pcap.gz"
        )


def planned():
    """The runs that are known by now, by their names, in their order."""
    return known_plan(EXPERIMENT_FILE, Path(RUNS_FOLDER)) if RUN_PLAN else {}


def all_runs(passes=EXPERIMENT.refine):
    """The names of all runs after so many passes of refinement, whose points must be chosen."""
    for number in range(1, passes + 1):
        checkpoints.refine.get(number=number)
    return [*(planned() or CAPTURES)]


def captures_of(run_id):
    """The captures of a run."""
    if not RUN_PLAN:
        return CAPTURES[run_id]
    return [
        f"{RUNS_FOLDER}/{run_id}/{host.name}.pcap.zst"
        for host in planned()[run_id].hosts
    ]


def records(passes=EXPERIMENT.refine):
    """The run.json files that exist, or that a rule will make."""
    paths = [
        f"{RUNS_FOLDER}/{RUN_NAMES.get(run, run)}/run.json" for run in all_runs(passes)
    ]
    return [path for path in paths if RUN_PLAN or Path(path).exists()]


def listed():
    """Which runs there are, how they are planned, and of captured ones the sites: where that
    changes, their table does too."""
    runs = planned()
    sites = [(name, site.hosts) for name, site in EXPERIMENT.sites.items()]
    return results.digest(
        repr({name: runs[name].spec_hash() for name in runs} or [*CAPTURES, *sites])
    )


# With `--sdm apptainer` the analysis runs in an image. Runs do not: they need the rights that this
# machine, or its scheduler, gives them.
CONTAINER = analysis_image()
# Messages of a command go to the terminal and, by `tee`, into the log of its rule.
LOGS = f"{RESULTS}/logs"
BENCHMARKS = f"{RESULTS}/benchmarks"


wildcard_constraints:
    run_id="[^/]+",
