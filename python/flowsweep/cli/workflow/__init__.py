"""`flowsweep workflow`: the place of the Snakemake workflow."""

COMMANDS = ("path",)
