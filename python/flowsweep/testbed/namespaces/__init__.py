"""Makes a run on emulated hosts of this machine, in private Linux namespaces.

`isolation` (outside) starts `hub` (inside), which builds the hosts (`topology`), starts the links
(`backend`: flowsweep-wan by `emulation`, or `netem`) and the capture agents (`agents`), measures
the idle path (`probe`), runs the program, watches how much of the machine it gets (`watch`), and
decides whether the run is valid (`validity`).
"""
