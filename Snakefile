# An experiment file to its report: capture, parse, query, report.
#
#   snakemake --configfile workflows/experiments/demo.yaml
#
# Each rule is one `flowsweep` command that can be pasted into a shell.
from snakemake.utils import min_version

min_version("9.20")


include: "workflows/rules/common.smk"
include: "workflows/rules/capture.smk"
include: "workflows/rules/parse.smk"
include: "workflows/rules/report.smk"


onstart:
    # Held until this process ends. Two processes at once would each mistake the other's unfinished
    # files for those of a killed one.
    try:
        claim(Path(RESULTS))
    except FlowsweepError as error:
        raise WorkflowError(str(error))
    if RUN_PLAN:
        results.mark_runs(EXPERIMENT, Path(RESULTS))
        logger.info(
            f"{EXPERIMENT.name}: {estimate(list(RUN_PLAN.values()), Path(RUNS_FOLDER))}"
        )
        if note := wait_note(EXPERIMENT):
            logger.info(note)
        for line in kinds.warnings(RUN_PLAN.values()):
            logger.warning(line)
    # With a limit on the job rate (its default is 100 per second), Snakemake 9.27 checks all ready
    # jobs one more time per second for each job that it has started: after 25 runs that took 13 %
    # of a core from the emulated hosts.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


rule all:
    default_target: True
    input:
        rules.report.output,
        # Requested explicitly: Snakemake does not notice a missing input of an existing report.
        lambda wildcards: records() if RUN_PLAN else [],
