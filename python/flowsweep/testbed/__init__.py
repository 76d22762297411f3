"""Makes captured runs on the hosts of a testbed of some kind.

`runner` makes a planned run: `describe` gives the description of its testbed (`spec`), `workloads`
the program on it, and the kind of testbed (`namespaces`, `ssh`) the captured run, in a run folder
(`run_folder`). `checks` says what this machine can do.
"""
