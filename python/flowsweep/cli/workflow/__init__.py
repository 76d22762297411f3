"""Where the Snakemake workflow is, for snakemake to run."""

COMMANDS = ("path",)
