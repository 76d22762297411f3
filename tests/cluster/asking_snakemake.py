"""Runs Snakemake, which asks Slurm for its jobs every 2 s, to its end.

Its executor waits 10 s longer each time that no job has ended, and no setting limits that: jobs
of seconds, as in the tests, would be over long before it asks.
"""

from __future__ import annotations

import sys

import snakemake_executor_plugin_slurm as plugin
from snakemake.cli import main

plugin.Executor.next_seconds_between_status_checks = property(lambda _: 2, lambda *_: None)
sys.exit(main())
