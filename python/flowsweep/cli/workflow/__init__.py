"""Print where the Snakemake workflow is."""

COMMANDS = ("path",)
