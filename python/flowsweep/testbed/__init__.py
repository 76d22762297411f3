"""Makes captured runs on the hosts of a testbed, of any kind.

`runner` makes a planned run: `describe` describes its testbed (`spec`), `workloads` adds the
program, and the kind of testbed (`namespaces`, `ssh`, `slurm`) makes the captured run, in a run
folder (`run_folder`). `checks` reports what this machine can do.
"""
