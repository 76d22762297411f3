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
    # Held until this process ends. Two at once would each take what the other one is writing for
    # the work of a killed start.
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
    # A limit of jobs in a time span (its default is 100 a second) makes Snakemake 9.27 look
    # at everything that is ready once more a second for each job that it has started: after
    # 25 runs that took 13 % of a core from the emulated hosts.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


rule all:
    default_target: True
    input:
        rules.report.output,
        # Asked for by name: Snakemake does not miss what only led to a report that is there.
        lambda wildcards: records() if RUN_PLAN else [],
