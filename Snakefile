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


rule all:
    default_target: True
    input:
        f"{RESULTS}/report.html",
